"""What RocketMQ's own classes wrote, written and read by ours, byte for byte.

``data/java_formats.txt`` says how it was recorded. Anything in ``data/golden`` is taken up by its
name: ``records*.bin`` is a pull response's body, ``batch*.bin`` a batch's, ``body*.json`` a JSON
body, ``config*.json`` a file of a broker's config folder.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemq.protocol import fastjson
from fakemq.protocol.batch import BatchMember, decode_batch, encode_batch
from fakemq.protocol.java import crc32
from fakemq.protocol.message import (
    RecordStatus,
    check_record,
    decode_record,
    decode_records,
)
from fakemq.protocol.message_id import decode_offset_id, decode_unique_id
from fakemq.protocol.subscription import build_subscription_data
from tests.support.records import encoded_again

DATA = Path(__file__).parent / "data"
LINES = [
    line.split(" ", 1)
    for line in (DATA / "java_formats.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


def recorded(kind: str) -> list[str]:
    lines = [line for name, line in LINES if name == kind]
    assert lines, f"no {kind} in java_formats.txt"
    return lines


def golden(pattern: str) -> list[bytes]:
    return [file.read_bytes() for file in sorted((DATA / "golden").glob(pattern))]


@pytest.mark.parametrize("line", recorded("record"))
def test_records_equal_javas(line: str) -> None:
    born, store, offset_id, digits = line.split(" ")
    record = bytes.fromhex(digits)
    message = decode_record(record)
    assert (message.born_host, message.store_host) == ((born, 50001), (store, 10911))
    assert message.body.decode() == "hello 日本"
    assert message.body_crc == crc32(message.body)
    assert message.properties == {"UNIQ_KEY": "7F0000010000", "TAGS": "é"}
    assert (message.queue_offset, message.commit_log_offset) == (12345678901, 98765432109)
    assert (message.born_timestamp_ms, message.store_timestamp_ms) == (
        1700000000001,
        1700000000002,
    )
    assert (message.queue_id, message.flag, message.reconsume_times) == (3, 9, 2)
    assert message.prepared_transaction_offset == 77
    assert message.offset_msg_id == offset_id
    assert message.msg_id == "7F0000010000"
    assert encoded_again(message) == record
    assert check_record(record).status is RecordStatus.OK


def test_batches_equal_javas() -> None:
    [digits] = recorded("batch")
    body = bytes.fromhex(digits)
    members = decode_batch(body)
    assert members == [
        BatchMember(b"first", b"KEYS\x01k1 k2\x02WAIT\x01true\x02TAGS\x01TagA"),
        BatchMember("日本語".encode(), b"", -3),
    ]
    assert encode_batch(members) == body


@pytest.mark.parametrize("line", recorded("subscription"))
def test_subscriptions_equal_javas(line: str) -> None:
    text, _, json = line.partition(" {")
    subscription = build_subscription_data("T", fastjson.loads(text))
    assert fastjson.dumps(subscription) == "{" + json


@pytest.mark.parametrize("line", recorded("unique"))
def test_unique_ids_equal_javas(line: str) -> None:
    text, ip, pid = line.split(" ")
    unique = decode_unique_id(text)
    assert unique.ip == {"2001:db8:0:0:0:0:0:7": "2001:db8::7"}.get(ip, ip)
    assert unique.pid == int(pid)
    assert unique[2:] == (0x18B4AAC2, 0x1234, 1)


def test_offset_ids_equal_javas() -> None:
    [line] = recorded("offset")
    text, host, offset = line.split(" ")
    store_host, physical_offset = decode_offset_id(text)
    assert f"/{store_host[0]}:{store_host[1]}" == host
    assert physical_offset == int(offset)


def test_golden_files_are_read_and_written() -> None:
    for records in golden("records*.bin"):
        assert b"".join(map(encoded_again, decode_records(records))) == records
    for batch in golden("batch*.bin"):
        assert encode_batch(decode_batch(batch)) == batch
    for body in golden("body*.json"):
        assert fastjson.encode(fastjson.loads(body)) == body
    for config in golden("config*.json"):
        assert fastjson.dumps_pretty(fastjson.loads(config)).encode() == config
