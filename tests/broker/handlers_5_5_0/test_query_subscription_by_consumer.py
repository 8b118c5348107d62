"""QUERY_SUBSCRIPTION_BY_CONSUMER (345)."""

from __future__ import annotations

import json

from fakemq.protocol.codes_5_5_0 import RequestCode5
from tests.support.peer import Peer

FIELDS = {"group": "G", "topic": "TBW102"}


def test_subscription_of_an_unknown_group_is_left_out(peer: Peer) -> None:
    answer = peer.ask(RequestCode5.QUERY_SUBSCRIPTION_BY_CONSUMER, ext_fields=FIELDS)
    assert json.loads(answer.body) == FIELDS
