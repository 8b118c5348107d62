"""QUERY_TOPICS_BY_CONSUMER (343)."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.peer import Peer


def test_topics_of_a_group_are_those_with_offsets(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit("G", "TBW102", 0, 3)
    answer = peer.ask(RequestCode5.QUERY_TOPICS_BY_CONSUMER, ext_fields={"group": "G"})
    assert json.loads(answer.body) == {"brokerAddr": broker.addr, "topicList": ["TBW102"]}
