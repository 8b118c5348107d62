"""The quick scan of stored records finds what the slow decoder finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.message import (
    RecordStatus,
    check_record,
    encode_record,
    tags_code,
)
from fakemq.protocol.properties import TAGS, encode_properties_as_java
from fakemq.store.delay_levels import DelayLevels
from fakemq.store.record_scan import End, look
from fakemq.store.records import LogRecord

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


@given(
    record=records(),
    flipped=st.none() | st.tuples(st.integers(0, 10_000), st.integers(1, 255)),
    before=st.integers(0, 600),
    cut=st.just(0) | st.integers(0, 300),
    check_crc=st.booleans(),
)
def test_quick_scan_finds_what_the_slow_one_finds(
    record: bytes, flipped: tuple[int, int] | None, before: int, cut: int, check_crc: bool
) -> None:
    data = bytearray(bytes(before) + record + bytes(50))
    if flipped is not None:
        data[before + flipped[0] % len(record)] ^= flipped[1]
    end = len(data) - cut
    seen = look(
        memoryview(data), before, end, LEVELS, first_offset=FIRST_OFFSET, check_crc=check_crc
    )
    assert (seen if isinstance(seen, LogRecord) else None) == expected(
        bytes(data[:end]), before, check_crc
    )
    if isinstance(seen, End):
        assert seen.why or seen.blank


@given(record=records(), before=st.integers(0, 600))
def test_complete_record_is_not_torn(record: bytes, before: int) -> None:
    view = memoryview(bytes(before) + record)
    seen = look(view, before, len(view), LEVELS, first_offset=0, check_crc=True, check_torn=True)
    assert isinstance(seen, LogRecord) or "tag" in seen.why
