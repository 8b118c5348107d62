"""A range of stored records has what the slow decoder finds."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.protocol.message import (
    RecordStatus,
    check_record,
    encode_record,
    tags_code,
)
from fakemq.protocol.properties import TAGS, encode_properties_as_java
from fakemq.store import record_scan
from fakemq.store.delay_detour import DelayLevels
from fakemq.store.record_scan import ARRIVING, RecordRange, ScanEnd, read_range
from fakemq.store.results import LogRecord

LEVELS = DelayLevels("1s 5s 10s")
HOSTS = st.sampled_from([("127.0.0.1", 10911), ("::1", 10911)])

FIRST_OFFSET = 1 << 30


@st.composite
def records(draw: st.DrawFn) -> bytes:
    topic = draw(st.sampled_from(["orders", "SCHEDULE_TOPIC_XXXX", "ünï", "x" * 127]))
    names = st.sampled_from(["TAGS", "KEYS", "DELAY", "ATAGS"])
    properties = draw(st.dictionaries(names, st.sampled_from(["1", "2", "tag", "9"]), max_size=4))
    return encode_record(
        topic,
        draw(st.binary(max_size=700)),
        encode_properties_as_java(properties),
        queue_id=draw(st.integers(0, 9)),
        queue_offset=draw(st.integers(0, 1 << 40)),
        physical_offset=7,
        sys_flag=draw(st.sampled_from([0, 1, 4, 8, 12])),
        born_host=draw(HOSTS),
        store_timestamp_ms=draw(st.integers(0, 1 << 41)),
        store_host=draw(HOSTS),
    )


def expected(data: bytes, at: int, check_crc: bool) -> LogRecord | None:
    """What the slow way makes of it; None for what is no record."""
    check = check_record(data, at, check_crc=check_crc)
    message = check.message
    if check.status is not RecordStatus.OK or message is None:
        return None
    code = tags_code(message.properties.get(TAGS))
    if message.topic == "SCHEDULE_TOPIC_XXXX":
        try:
            due = LEVELS.deliver_timestamp_ms(message.properties, message.store_timestamp_ms)
        except NumberFormatError:
            return None
        code = code if due is None else due
    return LogRecord(
        message.topic,
        message.queue_id,
        message.queue_offset,
        FIRST_OFFSET + at,
        check.size_bytes,
        message.sys_flag,
        code,
        message.store_timestamp_ms,
    )


def read(
    data: bytes,
    at: int,
    end: int,
    *,
    check_crc: bool = False,
    check_torn: bool = False,
    file_bytes: int | None = None,
) -> tuple[list[LogRecord], ScanEnd]:
    """The records from a position on, and why none follows."""
    found: list[LogRecord] = []
    while True:
        records = read_range(
            memoryview(data),
            at,
            end,
            LEVELS,
            first_offset=FIRST_OFFSET,
            check_crc=check_crc,
            check_torn=check_torn,
            file_bytes=file_bytes,
        )
        found += records_of(records)
        at = records.at
        if records.stop is not None:
            return found, records.stop


def records_of(records: RecordRange) -> list[LogRecord]:
    found = [
        LogRecord(run.topic, run.queue_id, offset, phy_offset, size_bytes, 0, tags_code, 0)
        for run in records.runs
        for offset, (phy_offset, size_bytes, tags_code) in enumerate(
            UNIT.iter_unpack(run.units), run.first
        )
    ]
    return sorted(found, key=lambda record: record.phy_offset)


def seen_in_range(record: LogRecord) -> LogRecord:
    """A record without what a range does not say of each."""
    return msgspec.structs.replace(record, sys_flag=0, store_timestamp_ms=0)


@given(
    stored=st.lists(records(), min_size=1, max_size=9),
    flipped=st.none() | st.tuples(st.integers(0, 10_000), st.integers(1, 255)),
    before=st.integers(0, 600),
    cut=st.just(0) | st.integers(0, 300),
    check_crc=st.booleans(),
    range_bytes=st.sampled_from([1 << 19, 1500, 300, 8]),
)
def test_range_has_what_the_slow_decoder_finds(
    stored: list[bytes],
    flipped: tuple[int, int] | None,
    before: int,
    cut: int,
    check_crc: bool,
    range_bytes: int,
) -> None:
    data = bytearray(bytes(before) + b"".join(stored) + bytes(50))
    if flipped is not None:
        data[before + flipped[0] % (len(data) - before)] ^= flipped[1]
    end = max(before, len(data) - cut)
    wanted, at = [], before
    while record := expected(bytes(data[:end]), at, check_crc):
        wanted.append(seen_in_range(record))
        at += record.size_bytes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_scan, "_RANGE_BYTES", range_bytes)
        found, stop = read(bytes(data), before, end, check_crc=check_crc)
    assert found == wanted
    assert stop.why or stop.blank


@given(
    places=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1)), max_size=20),
    odd=st.sets(st.integers(0, 19)),
)
def test_runs_of_a_range_are_in_the_order_of_the_log(
    places: list[tuple[str, int]], odd: set[int]
) -> None:
    offsets: Counter[tuple[str, int]] = Counter()
    data, wanted = b"", dict[tuple[str, int], list[tuple[int, int]]]()
    for number, (topic, queue_id) in enumerate(places):
        queue_offset = offsets[topic, queue_id]
        offsets[topic, queue_id] = 0 if number % 7 == 6 else queue_offset + 1
        wanted.setdefault((topic, queue_id), []).append((queue_offset, len(data)))
        data += encode_record(
            topic,
            b"body",
            b"",
            queue_id=queue_id,
            queue_offset=queue_offset,
            physical_offset=len(data),
            born_host=("::1", 1) if number in odd else ("127.0.0.1", 1),
            store_timestamp_ms=100 - number,
            store_host=("127.0.0.1", 1),
        )
    records = read_range(memoryview(data), 0, len(data), LEVELS, first_offset=0, check_crc=True)
    found = dict[tuple[str, int], list[tuple[int, int]]]()
    for run in records.runs:
        units = enumerate(UNIT.iter_unpack(run.units), run.first)
        place = found.setdefault((run.topic, run.queue_id), [])
        place += [(offset, phy_offset) for offset, (phy_offset, _, _) in units]
    assert found == wanted
    if places:
        assert (records.oldest_ms, records.newest_ms) == (101 - len(places), 101 - len(places))


@given(st.lists(records(), min_size=1, max_size=5), st.data())
def test_range_of_an_arriving_log_ends_before_the_incomplete_record(
    stored: list[bytes], data: st.DataObject
) -> None:
    log = b"".join(stored)
    ends = list(accumulate(map(len, stored)))
    end = data.draw(st.integers(0, len(log)) | st.sampled_from(ends))
    found, stop = read(log + bytes(100), 0, end, file_bytes=len(log) + 100)
    whole = [size_bytes for size_bytes in ends if size_bytes <= end]
    assert "tag" in stop.why or (stop is ARRIVING and len(found) == len(whole))


@given(record=records(), before=st.integers(0, 600))
def test_complete_record_is_not_torn(record: bytes, before: int) -> None:
    data = bytes(before) + record
    found, stop = read(data, before, len(data), check_crc=True, check_torn=True)
    assert found or "tag" in stop.why
