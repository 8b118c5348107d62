"""QUERY_CONSUMER_OFFSET: the committed offset, or where a new group begins."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.offset import QueryConsumerOffsetRequestHeader
from tests.support.broker_lab import Send
from tests.support.peer import Peer

HEADER = QueryConsumerOffsetRequestHeader(consumer_group="g", topic="orders", queue_id=0)
NOT_FOUND = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"


def test_what_was_committed_comes_back(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit("g", "orders", 0, 7)
    response = peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, HEADER)
    assert (response.code, response.ext_fields) == (ResponseCode.SUCCESS, {"offset": "7"})


def test_a_group_that_boots_first_begins_at_0_while_that_is_in_memory(
    broker: Broker, peer: Peer, send: Send
) -> None:
    send()
    response = peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, HEADER)
    assert (response.code, response.ext_fields) == (ResponseCode.SUCCESS, {"offset": "0"})


def test_it_begins_at_0_where_there_is_no_queue_yet(peer: Peer) -> None:
    assert peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, HEADER).ext_fields == {"offset": "0"}


def test_once_entry_0_counts_as_on_disk_the_client_decides(
    broker: Broker, peer: Peer, send: Send
) -> None:
    send(b"x" * 100)
    broker.store.ram_size_bytes = 100
    send(b"x" * 100)
    response = peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, HEADER)
    assert (response.code, response.remark) == (ResponseCode.QUERY_NOT_FOUND, NOT_FOUND)
