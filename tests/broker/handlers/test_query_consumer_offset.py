"""QUERY_CONSUMER_OFFSET: the committed offset, or where a new group begins."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.offset import QueryConsumerOffsetRequestHeader
from tests.support.broker_lab import Send
from tests.support.peer import Peer

HEADER = QueryConsumerOffsetRequestHeader(consumer_group="g", topic="orders", queue_id=0)
NOT_FOUND = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"


def test_committed_offset_is_returned(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit("g", "orders", 0, 7)
    response = peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, HEADER)
    assert (response.code, response.ext_fields) == (ResponseCode.SUCCESS, {"offset": "7"})


def test_new_group_begins_at_0_while_offset_0_is_in_memory(
    broker: Broker, peer: Peer, send: Send
) -> None:
    send()
    response = peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, HEADER)
    assert (response.code, response.ext_fields) == (ResponseCode.SUCCESS, {"offset": "0"})


def test_new_group_begins_at_0_when_the_queue_does_not_exist(peer: Peer) -> None:
    assert peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, HEADER).ext_fields == {"offset": "0"}


def test_client_decides_when_offset_0_counts_as_on_disk(
    broker: Broker, peer: Peer, send: Send
) -> None:
    send(b"x" * 100)
    broker.store.ram_size_bytes = 100
    send(b"x" * 100)
    response = peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, HEADER)
    assert (response.code, response.remark) == (ResponseCode.QUERY_NOT_FOUND, NOT_FOUND)
