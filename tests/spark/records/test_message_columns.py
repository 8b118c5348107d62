"""Columns made from many records at once say what each record says."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.hosts import Host, format_host
from fakemq.protocol.message import decode_records, encode_record
from fakemq.protocol.properties import decode_properties
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.spark.records.message_columns import (
    EqualProperties,
    PropertyTable,
    message_batch,
    property_columns,
)
from fakemq.spark.records.record_table import RecordTable, unpacked
from fakemq.spark.records.record_walk import positions_of
from fakemq.spark.records.schema import message_schema

HOSTS = st.sampled_from([("127.0.0.1", 10911), ("10.1.2.3", 65535), ("fe80::1", 9876)])
TIMES_MS = st.integers(0, 4_000_000_000_000)
NAMES = st.sampled_from(["KEYS", "TAGS", "UNIQ_KEY", "colour", "größe"])
VALUES = st.text("aé世 \x00", max_size=5)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    sys_flag = draw(st.sampled_from([0, MessageSysFlag.COMPRESSED]))
    body = draw(st.binary(max_size=40))
    born: Host = draw(HOSTS)
    stored: Host = draw(HOSTS)
    properties = draw(st.lists(st.tuples(NAMES, VALUES), max_size=4))
    return encode_record(
        draw(st.sampled_from(["orders", "käse", ""])),
        zlib.compress(body) if sys_flag else body,
        "\x02".join(f"{name}\x01{value}" for name, value in properties),
        queue_id=draw(st.integers(0, 2**31 - 1)),
        born_host=born,
        store_host=stored,
        flag=draw(st.integers(-5, 5)),
        sys_flag=sys_flag,
        queue_offset=draw(st.integers(0, 2**62)),
        physical_offset=draw(st.integers(0, 2**62)),
        born_timestamp_ms=draw(TIMES_MS),
        store_timestamp_ms=draw(TIMES_MS),
        reconsume_times=draw(st.integers(0, 99)),
        prepared_transaction_offset=draw(st.integers(0, 2**62)),
    )


@given(st.lists(records(), max_size=5))
def test_every_column_equals_its_field_of_the_record(some: list[bytes]) -> None:
    data = b"".join(some)
    table = RecordTable(data, positions_of(data))
    bodies = unpacked(table).bodies
    rows = message_batch(table, "broker-a", bodies, include_properties=True).to_pylist()
    messages = decode_records(data)
    assert len(rows) == len(messages)
    for row, message in zip(rows, messages, strict=True):
        compressed = message.sys_flag & MessageSysFlag.COMPRESSED
        assert row == {
            "topic": message.topic,
            "broker": "broker-a",
            "queueId": message.queue_id,
            "offset": message.queue_offset,
            "key": message.keys,
            "tags": message.tags,
            "value": zlib.decompress(message.body) if compressed else message.body,
            "timestamp": moment(message.store_timestamp_ms),
            "bornTimestamp": moment(message.born_timestamp_ms),
            "msgId": message.msg_id,
            "offsetMsgId": message.offset_msg_id,
            "bornHost": format_host(message.born_host),
            "storeHost": format_host(message.store_host),
            "sysFlag": message.sys_flag,
            "reconsumeTimes": message.reconsume_times,
            "commitLogOffset": message.commit_log_offset,
            "properties": list(message.properties.items()),
        }


@given(st.lists(records(), min_size=1, max_size=3), st.data())
def test_damage_is_reported_and_raises_nothing(some: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(some)
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    starts = positions_of(whole)
    table = RecordTable(damaged, starts)
    for start, end, fits in zip(
        starts.tolist(), [*starts.tolist()[1:], len(whole)], table.fitting.tolist(), strict=True
    ):
        if not start <= at < end:
            assert fits, "a record is not concerned by damage to another"
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    if cut and len(cut) not in {*starts.tolist(), len(whole)}:
        with pytest.raises(RemoteProtocolError):
            positions_of(cut)


ENTRIES = st.lists(st.sampled_from(["KEYS", "K", "", "TAGS"]), min_size=1, max_size=4)
MARKS = st.sampled_from([0, 1, 2, ord("E"), 0xFF])


@st.composite
def equal_sized_properties(draw: st.DrawFn) -> list[bytes]:
    """Properties with the same names at the same places, except for a few bytes of any kind."""
    widths = [(name.encode(), draw(st.integers(0, 3))) for name in draw(ENTRIES)]
    rows = []
    for _ in range(draw(st.integers(1, 5))):
        values = [(name, draw(st.binary(min_size=size, max_size=size))) for name, size in widths]
        rows.append(bytearray(b"\x02".join(name + b"\x01" + value for name, value in values)))
    size_bytes = len(rows[0])
    for _ in range(draw(st.integers(0, 2))):
        row = draw(st.sampled_from(rows))
        row[draw(st.integers(0, size_bytes - 1))] = draw(MARKS)
    return [bytes(row) for row in rows]


@given(equal_sized_properties())
def test_equal_properties_are_those_of_any_records(rows: list[bytes]) -> None:
    data = b"head" + b"".join(rows) + b"tail"
    begin = 4 + np.arange(len(rows)) * len(rows[0])
    exact = PropertyTable(pa.array(rows, pa.binary()))
    found = property_columns(data, begin, begin + len(rows[0]))
    assert found.maps().equals(exact.maps())
    texts = [decode_properties(row.decode("utf-8", "replace")) for row in rows]
    for name in ("KEYS", "K", "TAGS"):
        assert found.values(name).equals(exact.values(name))
        assert found.values(name).to_pylist() == [text.get(name) for text in texts]


def test_properties_of_one_producer_are_read_by_place() -> None:
    rows = [b"UNIQ_KEY\x01%05d\x02TAGS\x01A\x02" % number for number in range(30)]
    begin = np.arange(30) * len(rows[0])
    alike = property_columns(b"".join(rows), begin, begin + len(rows[0]))
    assert isinstance(alike, EqualProperties)
    assert alike.values("UNIQ_KEY").to_pylist() == [f"{number:05}" for number in range(30)]
    rows[7] = rows[7].replace(b"TAGS", b"TAGZ")
    other = property_columns(b"".join(rows), begin, begin + len(rows[0]))
    assert isinstance(other, PropertyTable)


def test_properties_are_a_column_only_when_selected() -> None:
    nothing = RecordTable(b"", positions_of(b""))
    for wanted in (False, True):
        batch = message_batch(nothing, "broker-a", {}, include_properties=wanted)
        assert ("properties" in batch.schema.names) == wanted
    assert batch.schema == message_schema(include_properties=True)


def moment(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
