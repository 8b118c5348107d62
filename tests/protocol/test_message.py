"""Stored records and messages: encoding, decoding, damage, compression."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError, TruncatedError
from fakemq.protocol.java import java_string_hash
from fakemq.protocol.layout.codecs import build_blank
from fakemq.protocol.message import (
    MessageExt,
    RecordStatus,
    check_record,
    decode_record,
    decode_records,
    decompressed_body,
    encode_record,
    readdressed,
    record_size_bytes,
    tags_code,
)
from fakemq.protocol.sysflag import MessageSysFlag, compression_name

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
HOST = st.tuples(st.ip_addresses().map(str), INT32)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)

FIELDS = st.fixed_dictionaries(
    {
        "topic": TEXT,
        "body": st.binary(max_size=50),
        "properties": TEXT,
        "queue_id": INT32,
        "flag": INT32,
        "sys_flag": st.integers(0, 0xFFF),
        "queue_offset": INT64,
        "physical_offset": INT64,
        "born_timestamp_ms": INT64,
        "born_host": HOST,
        "store_timestamp_ms": INT64,
        "store_host": HOST,
        "reconsume_times": INT32,
        "prepared_transaction_offset": INT64,
    }
)


def a_record(**changed: Any) -> bytes:
    fields: dict[str, Any] = {
        "topic": "T",
        "body": b"hello",
        "properties": "TAGS\x01a",
        "queue_id": 3,
        "born_host": ("10.0.0.7", 1234),
        "store_host": ("127.0.0.1", 10911),
    }
    return encode_record(**fields | changed)


@given(FIELDS)
@settings(deadline=None)
def test_record_is_decoded_as_encoded(fields: dict[str, Any]) -> None:
    record = encode_record(**fields)
    message = decode_record(b"??" + record, 2)
    v6_bits = MessageSysFlag.BORNHOST_V6 | MessageSysFlag.STOREHOSTADDRESS_V6
    assert message.sys_flag & ~v6_bits == fields["sys_flag"] & ~v6_bits
    assert message.properties_string == fields["properties"]
    for name in fields.keys() - {"properties", "sys_flag"}:
        assert getattr(message, name) == fields[name]
    assert message.store_size_bytes == len(record)
    assert len(record) == record_size_bytes(
        message.sys_flag,
        len(fields["body"]),
        len(fields["topic"].encode()),
        len(fields["properties"].encode()),
    )
    check = check_record(record + b"more")
    assert (check.status, check.size_bytes, check.reason) == (RecordStatus.OK, len(record), "")


def test_record_has_javas_layout() -> None:
    record = a_record(
        queue_offset=1,
        physical_offset=2,
        sys_flag=4,
        born_timestamp_ms=5,
        store_timestamp_ms=6,
        reconsume_times=7,
        prepared_transaction_offset=8,
        flag=9,
    )
    assert record.hex(" ", -4) == (
        "00000067 daa320a7 3610a686 00000003 00000009"
        " 00000000 00000001 00000000 00000002 00000004 00000000 00000005"
        " 0a000007 000004d2 00000000 00000006 7f000001 00002a9f 00000007 00000000 00000008"
        " 00000005 68656c6c 6f015400 06544147 530161"
    )
    assert len(record) == 91 + len(b"hello" + b"T" + b"TAGS=a")


def test_message_has_its_ids_and_properties() -> None:
    message = decode_record(a_record(physical_offset=0x10, properties="KEYS\x01a b\x02TAGS\x01t"))
    assert message.offset_msg_id == "7F00000100002A9F0000000000000010"
    assert message.msg_id == message.offset_msg_id
    assert message.properties == {"KEYS": "a b", "TAGS": "t"}
    assert (message.keys, message.tags) == ("a b", "t")
    assert repr(message) == "<message T:3 offset 0 at 16, 5 bytes>"
    assert decode_record(a_record(properties="UNIQ_KEY\x01u")).msg_id == "u"


def test_records_are_decoded_one_after_another() -> None:
    records = a_record(body=b"a") + a_record(body=b"", properties="") + a_record(body=b"c" * 500)
    assert [message.body for message in decode_records(records)] == [b"a", b"", b"c" * 500]
    assert decode_records(b"") == []
    for end in (1, 90, len(records) - 1):
        with pytest.raises(TruncatedError):
            decode_records(records[:end])


def outcome(decode: Callable[[], list[MessageExt]]) -> object:
    """Return everything in the messages that are decoded, or the error's type."""
    try:
        return [
            {name: getattr(message, name) for name in MessageExt.__slots__} for message in decode()
        ]
    except RemoteProtocolError as error:
        return type(error)


@given(FIELDS, st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3), INT32)
@settings(deadline=None)
def test_records_are_read_fast_as_one_by_one(
    fields: dict[str, Any], damage: list[tuple[int, int]], end: int
) -> None:
    data = bytearray(encode_record(**fields) + a_record(topic="t"))
    for at, byte in damage:
        data[at % len(data)] = byte
    whole = bytes(data[: end % len(data)] if end % 3 == 0 else data)
    # Only bytes are read fast.
    assert outcome(lambda: decode_records(whole)) == outcome(
        lambda: decode_records(memoryview(whole))
    )


def test_invalid_record_values_are_refused() -> None:
    for changed in (
        {"topic": "t" * 128},
        {"properties": "p" * 32768},
        {"born_host": ("somewhere", 1)},
        {"queue_id": 1 << 31},
    ):
        with pytest.raises(LocalProtocolError):
            a_record(**changed)


def test_wrong_size_is_found() -> None:
    record = bytearray(a_record())
    record[3] += 1
    with pytest.raises(RemoteProtocolError, match=r"a record of 103 bytes at 0 says it has 104"):
        decode_record(record)
    assert check_record(record).status is RecordStatus.BAD


def test_check_finds_blank_and_damage() -> None:
    blank = check_record(b"xx" + build_blank(77), 2)
    assert (blank.status, blank.size_bytes, blank.message) == (RecordStatus.BLANK, 77, None)
    record = bytearray(a_record())
    record[record.index(b"hello")] ^= 1
    damaged = check_record(record)
    assert damaged.status is RecordStatus.BAD
    assert damaged.reason.startswith("CRC 0x")
    assert damaged.reason.endswith("of the body where 0x3610a686 is said")
    assert check_record(record, check_crc=False).status is RecordStatus.OK
    for nothing in (b"", b"short", bytes(200)):
        assert check_record(nothing).status is RecordStatus.BAD


@given(st.binary(max_size=120), st.integers(0, 102), st.integers(0, 255))
@settings(deadline=None)
def test_check_never_raises(garbage: bytes, at: int, value: int) -> None:
    check_record(garbage)
    record = bytearray(a_record())
    record[at] = value
    check = check_record(bytes(record) + garbage)
    assert (check.status is RecordStatus.OK) == (check.message is not None)


def test_tags_codes_are_java_hashes() -> None:
    assert tags_code("TagA") == java_string_hash("TagA") == 2598919
    assert tags_code("") == tags_code(None) == 0


def compressed(body: bytes, bits: int) -> MessageExt:
    return decode_record(a_record(body=body, sys_flag=MessageSysFlag.COMPRESSED | bits))


def test_bodies_are_decompressed() -> None:
    assert decompressed_body(decode_record(a_record())) == b"hello"
    for bits in (0, MessageSysFlag.COMPRESSION_ZLIB_TYPE):
        message = compressed(zlib.compress(b"hello" * 100), bits)
        assert decompressed_body(message) == b"hello" * 100
        assert message.body == zlib.compress(b"hello" * 100)


def test_body_of_another_compression_is_an_error() -> None:
    with pytest.raises(RemoteProtocolError, match="is no zlib"):
        decompressed_body(compressed(b"hello", 0))
    with pytest.raises(RemoteProtocolError, match="compression type 5"):
        decompressed_body(compressed(b"hello", 0x500))


@pytest.mark.parametrize(
    ("bits", "module", "name"),
    [
        (MessageSysFlag.COMPRESSION_LZ4_TYPE, "lz4.frame", "lz4"),
        (MessageSysFlag.COMPRESSION_ZSTD_TYPE, "zstandard", "zstandard"),
    ],
)
def test_missing_module_and_its_extra_are_named(
    monkeypatch: pytest.MonkeyPatch, bits: int, module: str, name: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(LocalProtocolError, match=rf"with {name}, .*'fakemq\[compress\]'"):
        decompressed_body(compressed(b"hello", bits))


JAVA_BODIES = [
    line.split()
    for line in (Path(__file__).parent / "data/java_compressed.txt").read_text().splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("name", "sys_flag", "body"), JAVA_BODIES, ids=lambda one: one[:9])
def test_bodies_of_a_java_producer_are_decompressed(name: str, sys_flag: str, body: str) -> None:
    message = decode_record(a_record(body=bytes.fromhex(body), sys_flag=int(sys_flag)))
    assert compression_name(message.sys_flag).upper() == name.partition("-")[0]
    if name.endswith("-long"):
        wanted = "".join(f"line {n % 7} é\n" for n in range(30_000))
    else:
        wanted = "".join(f"fakemq {n % 10} " for n in range(1000))
    assert decompressed_body(message).decode() == wanted
    message.body = message.body[:-5]
    with pytest.raises(RemoteProtocolError, match="is no "):
        decompressed_body(message)


@pytest.mark.parametrize("bits", [0x100, 0x200, 0x300])
def test_unknown_compression_is_named(bits: int) -> None:
    with pytest.raises(RemoteProtocolError, match="is no "):
        decompressed_body(compressed(b"not compressed at all", bits))


@given(
    body=st.binary(max_size=50),
    topic=st.text("abc%_ü", min_size=1, max_size=20),
    properties=st.text("abc\x01\x02", max_size=50),
    host=st.sampled_from(["127.0.0.1", "::1"]),
)
def test_readdressed_record_differs_in_topic_and_properties_alone(
    body: bytes, topic: str, properties: str, host: str
) -> None:
    def record(topic: str, properties: str) -> bytes:
        return encode_record(
            topic,
            body,
            properties,
            queue_id=3,
            born_host=(host, 1),
            store_host=(host, 10911),
            queue_offset=7,
            store_timestamp_ms=1_700_000_000_000,
        )

    changed = readdressed(record("%RETRY%g_t", "a\x01b\x02"), topic.encode(), properties.encode())
    assert changed == record(topic, properties)


def test_only_a_whole_record_is_readdressed_and_within_its_limits() -> None:
    record = encode_record(
        "orders", b"body", "", queue_id=0, born_host=("1.1.1.1", 1), store_host=("1.1.1.1", 2)
    )
    for damaged in (record[:-1], record + b"\0", b"\0\0\0\xff" + record[4:], b"\0" * len(record)):
        with pytest.raises(RemoteProtocolError):
            readdressed(damaged, b"t", b"")
    for topic, properties in ((b"t" * 128, b""), (b"t", b"p" * 32_768)):
        with pytest.raises(LocalProtocolError):
            readdressed(record, topic, properties)
