"""Records, batches and the bodies of messages."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from fakemq.protocol.batch import decode_batch, encode_batch
from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError
from fakemq.protocol.limits import MESSAGE_BODY_MAX_BYTES
from fakemq.protocol.message import (
    MessageExt,
    RecordStatus,
    check_record,
    decode_record,
    decode_records,
    decompressed_body,
    encode_record,
    record_properties,
)
from fakemq.protocol.sysflag import MessageSysFlag
from tests.fuzz import golden
from tests.fuzz.target import Target, Violation, outcome, same
from tests.support.records import encoded_again


def record(data: bytes) -> None:
    """Records without a gap: checked, decoded and written again byte by byte."""
    check_record(data)
    outcome(lambda: record_properties(data), RemoteProtocolError)
    messages = outcome(lambda: decode_records(data), RemoteProtocolError) or []
    offset = 0
    for message in messages:
        repr(message)
        _written_again(message, data[offset : offset + message.store_size_bytes])
        checked = check_record(data, offset, check_crc=False)
        if checked.status is RecordStatus.BAD or checked.size_bytes != message.store_size_bytes:
            raise Violation(f"{message!r} is decoded, and yet {checked}")
        offset += message.store_size_bytes
    same("bytes read", offset, len(data) if messages else 0)


def _written_again(message: MessageExt, data: bytes) -> None:
    try:
        again = encoded_again(message)
    except LocalProtocolError:
        return  # replaced bytes make a text longer than it was
    if "\ufffd" not in message.topic + message.properties_string:
        same("written again, but for the CRC", again[:8] + again[12:], data[:8] + data[12:])
    (decode_record(again).msg_id, message.tags, message.keys)


def batch(data: bytes) -> None:
    """The members of a batch come back."""
    members = outcome(lambda: decode_batch(data), RemoteProtocolError)
    if members is not None:
        same("written again", decode_batch(encode_batch(members)), members)


def compressed(data: bytes) -> None:
    """A body compressed as the first byte says: unpacked, but never without a limit."""
    message = _message(data[1:], MessageSysFlag.COMPRESSED | (data[0] % 8 << 8 if data else 0))
    body = outcome(lambda: decompressed_body(message), RemoteProtocolError, LocalProtocolError)
    if body is not None and len(body) > MESSAGE_BODY_MAX_BYTES:
        raise Violation(f"{len(data)} bytes became {len(body)}")


def _message(body: bytes, sys_flag: int) -> MessageExt:
    host = "127.0.0.1", 1
    made = encode_record(
        "T", body, "", queue_id=0, born_host=host, store_host=host, sys_flag=sys_flag
    )
    return decode_record(made)


# -- seeds ----------------------------------------------------------------------------------------


def _records() -> Iterator[bytes]:
    log = golden.commit_log()
    offset = 0
    while (checked := check_record(log, offset)).status is RecordStatus.OK:
        yield log[offset : offset + checked.size_bytes]
        offset += checked.size_bytes
    yield log[:offset]
    host = "::1", 10911
    yield encode_record("T", b"", "a\x01b", queue_id=0, born_host=host, store_host=host)
    yield (20).to_bytes(4) + bytes.fromhex("cbd43194") + bytes(12)


def _batches() -> Iterator[bytes]:
    for name, way, command in golden.commands():
        if way == ">" and "BATCH" in name and command.body[:1] not in b"{[":
            yield command.body


def _compressed() -> Iterator[bytes]:
    for plain in (b"x" * 50, b"hello " * 200):
        yield b"\0" + zlib.compress(plain)
    for sys_flag, packed in golden.compressed_bodies():
        yield bytes([sys_flag >> 8 & 7]) + packed


TARGETS = (
    Target("record", record, ("message", "layout.codecs", "hosts"), _records),
    Target("batch", batch, ("batch", "layout.codecs"), _batches),
    Target("compressed", compressed, ("message", "compression", "sysflag"), _compressed),
)
