"""GET_BROKER_CONSUME_STATS (317)."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from tests.support.peer import Peer


def test_broker_consume_stats_count_what_was_consumed_below_zero(
    broker: Broker, peer: Peer
) -> None:
    broker.groups.find("G")
    broker.offsets.commit("G", "TBW102", 0, 3)
    answer = peer.ask(RequestCode.GET_BROKER_CONSUME_STATS, ext_fields={"isOrder": "false"})
    assert b'"totalInflightDiff":-3' in answer.body
