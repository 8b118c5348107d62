"""QUERY_CONSUMER_OFFSET: the committed offset, or where a new group begins."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.offset import QueryConsumerOffsetRequestHeader
from tests.support.broker_lab import Send
from tests.support.peer import Peer

HEADER = QueryConsumerOffsetRequestHeader(consumer_group="g", topic="orders", queue_id=0)
NOT_FOUND = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"


def test_client_decides_when_offset_0_counts_as_on_disk(
    broker: Broker, peer: Peer, send: Send
) -> None:
    send(b"x" * 100)
    broker.store.ram_size_bytes = 100
    send(b"x" * 100)
    response = peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, HEADER)
    assert (response.code, response.remark) == (ResponseCode.QUERY_NOT_FOUND, NOT_FOUND)
