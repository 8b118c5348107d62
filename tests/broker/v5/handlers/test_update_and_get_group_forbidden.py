"""UPDATE_AND_GET_GROUP_FORBIDDEN (353)."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.broker_lab import broker5
from tests.support.peer import Peer

FIELDS = {"group": "G", "topic": "TBW102"}


def test_forbidden_topic_is_said_and_allowed_again(broker: Broker, peer: Peer) -> None:
    def ask(**more: str) -> object:
        answer = peer.ask(RequestCode5.UPDATE_AND_GET_GROUP_FORBIDDEN, ext_fields=FIELDS | more)
        assert answer.code == ResponseCode.SUCCESS
        return json.loads(answer.body)["readable"]

    assert ask() is True
    assert ask(readable="false") is False
    assert ask(topic="other", readable="false") is False
    assert broker5(broker).forbidden.is_forbidden("G", "TBW102")
    assert ask(topic="other", readable="true") is True
    assert ask() is True  # Java then allows the group all topics
