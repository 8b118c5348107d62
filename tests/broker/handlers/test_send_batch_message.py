"""SEND_BATCH_MESSAGE: several messages in one request."""

from __future__ import annotations

import struct

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import send_header
from tests.support.peer import Peer


def member(body: bytes, properties: bytes = b"") -> bytes:
    tail = struct.pack(">iiii", 0, 0, 0, len(body)) + body
    tail += struct.pack(">h", len(properties)) + properties
    return struct.pack(">i", len(tail) + 4) + tail


BODY = member(b"a") + member(b"b", b"TAGS\x01t") + member(b"c")


def test_batch_is_recognised_by_its_header_not_its_code(broker: Broker, peer: Peer) -> None:
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(batch=True), BODY).code == 0
    assert broker.store.max_offset_in_queue("orders", 0) == 3
    assert peer.ask(RequestCode.SEND_BATCH_MESSAGE, send_header(batch=False), BODY).code == 0
    assert broker.store.max_offset_in_queue("orders", 0) == 4


def test_batch_is_checked_like_any_send(peer: Peer) -> None:
    header = send_header(batch=True, queue_id=9)
    response = peer.ask(RequestCode.SEND_BATCH_MESSAGE, header, BODY)
    assert (response.remark or "").startswith("request queueId[9] is illegal, TopicConfig [")
