"""GET_CONSUME_STATS (208)."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import broker5
from tests.support.peer import Peer


def test_consume_stats_say_what_was_pulled(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit("G", "TBW102", 0, 3)
    broker5(broker).pull_offsets.commit("TBW102", "G", 0, 7)
    for topics in ({"topic": "TBW102"}, {"topicList": "TBW102;none"}):
        fields = {"consumerGroup": "G", **topics}
        answer = peer.ask(RequestCode.GET_CONSUME_STATS, ext_fields=fields)
        assert b'"consumerOffset":3' in answer.body
        assert b'"pullOffset":7' in answer.body
