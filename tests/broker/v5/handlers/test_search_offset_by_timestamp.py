"""SEARCH_OFFSET_BY_TIMESTAMP (29): the first message from a time on, or the last until then."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import BrokerLab
from tests.support.clients import TOPIC, send
from tests.support.peer import Peer


def test_offset_by_time_has_two_boundaries(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    def search(after_ms: int, **more: str) -> int:
        fields = {"topic": TOPIC, "queueId": "0", "timestamp": str(first_ms + after_ms)}
        code = RequestCode.SEARCH_OFFSET_BY_TIMESTAMP
        return int(peer.ask(code, ext_fields=fields | more).ext_fields["offset"])

    broker.create_topic(TOPIC, 1)
    first_ms = broker.clock.now_ms()
    for _ in range(3):
        send(peer)
        lab.clock.advance("1s")
    times = (-1, 0, 1, 999, 1_000, 2_000, 2_001, 99_000)
    assert [search(ms) for ms in times] == [0, 0, 1, 1, 1, 2, 3, 3]
    assert [search(ms, boundaryType="upper") for ms in times] == [0, 0, 0, 0, 1, 2, 2, 2]
    assert search(0, queueId="7") == 0
