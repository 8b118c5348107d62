"""SEARCH_OFFSET_BY_TIMESTAMP: the message of a queue that is nearest to a time."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.offset import SearchOffsetRequestHeader
from tests.support.broker_lab import BrokerLab, Send
from tests.support.peer import Peer
from tests.support.time import START_MS


def search(peer: Peer, timestamp: int, topic: str = "orders") -> str:
    header = SearchOffsetRequestHeader(topic=topic, queue_id=0, timestamp=timestamp)
    return peer.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header).ext_fields["offset"]


def test_nearest_message_is_found_and_the_last_for_later_times(
    lab: BrokerLab, peer: Peer, send: Send
) -> None:
    for _ in range(5):
        send()
        lab.clock.advance("10s")
    assert search(peer, START_MS - 1) == "0"
    assert search(peer, START_MS + 20_000) == "2"
    assert search(peer, START_MS + 3_600_000) == "4"


def test_offset_is_0_when_the_queue_does_not_exist(peer: Peer) -> None:
    assert search(peer, START_MS, "unknown") == "0"
