"""SEND_BATCH_MESSAGE: several messages in one request."""

from __future__ import annotations

import struct

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import send_header
from tests.support.peer import Peer


def member(body: bytes, properties: bytes = b"") -> bytes:
    tail = struct.pack(">iiii", 0, 0, 0, len(body)) + body
    tail += struct.pack(">h", len(properties)) + properties
    return struct.pack(">i", len(tail) + 4) + tail


BODY = member(b"a") + member(b"b", b"TAGS\x01t") + member(b"c")


def test_members_are_stored_one_by_one_and_answered_together(broker: Broker, peer: Peer) -> None:
    response = peer.ask(RequestCode.SEND_BATCH_MESSAGE, send_header(batch=True), BODY)
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    ids = response.ext_fields["msgId"].split(",")
    assert len(ids) == 3
    assert ids == sorted(ids)
    assert response.ext_fields["queueOffset"] == "0"
    assert response.ext_fields["MSG_REGION"] == "DefaultRegion"
    assert broker.store.max_offset_in_queue("orders", 0) == 3


def test_batch_is_recognised_by_its_header_not_its_code(broker: Broker, peer: Peer) -> None:
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(batch=True), BODY).code == 0
    assert broker.store.max_offset_in_queue("orders", 0) == 3
    assert peer.ask(RequestCode.SEND_BATCH_MESSAGE, send_header(batch=False), BODY).code == 0
    assert broker.store.max_offset_in_queue("orders", 0) == 4


def test_batch_is_neither_delayed_nor_prepared(broker: Broker, peer: Peer) -> None:
    delayed = send_header(batch=True, properties="DELAY\x013")
    response = peer.ask(RequestCode.SEND_BATCH_MESSAGE, delayed, BODY)
    assert response.code == ResponseCode.MESSAGE_ILLEGAL
    prepared = send_header(batch=True, sys_flag=4)
    response = peer.ask(RequestCode.SEND_BATCH_MESSAGE, prepared, BODY)
    assert response.code == ResponseCode.MESSAGE_ILLEGAL
    assert broker.store.max_offset_in_queue("orders", 0) == 0


def test_empty_batch_is_a_null_pointer_exception(peer: Peer) -> None:
    response = peer.ask(RequestCode.SEND_BATCH_MESSAGE, send_header(batch=True))
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert (response.remark or "").startswith("java.lang.NullPointerException")


def test_batch_is_checked_like_any_send(peer: Peer) -> None:
    header = send_header(batch=True, queue_id=9)
    response = peer.ask(RequestCode.SEND_BATCH_MESSAGE, header, BODY)
    assert (response.remark or "").startswith("request queueId[9] is illegal, TopicConfig [")
