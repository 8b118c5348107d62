"""Ranges are split and limited without losing or doubling an offset."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.spark.reading.planning import (
    PARTITIONS,
    SHARED_MESSAGES,
    QueueRange,
    limited,
    ranges_between,
    shared,
    split,
)

LENGTHS = st.lists(st.integers(1, 10_000), min_size=1, max_size=12)
SHORT = st.lists(st.integers(1, 100), min_size=1, max_size=12)
"""Few enough for parts of one message each."""
COUNTS = st.none() | st.integers(1, 60)


def queue(number: int) -> MessageQueue:
    return MessageQueue(topic="t", broker_name="b", queue_id=number)


def ranges(lengths: list[int]) -> list[QueueRange]:
    return [QueueRange(queue(one), 100, 100 + length) for one, length in enumerate(lengths)]


@given(SHORT, COUNTS, COUNTS)
def test_parts_cover_the_ranges_exactly(
    lengths: list[int], min_partitions: int | None, max_records: int | None
) -> None:
    whole = ranges(lengths)
    parts = split(whole, min_partitions, max_records)
    assert all(len(one) for one in parts)
    for one in whole:
        own = [part for part in parts if part.queue == one.queue]
        assert own[0].start == one.start
        assert own[-1].end == one.end
        assert all(a.end == b.start for a, b in pairwise(own))
    if max_records is not None:
        assert max(map(len, parts)) <= max_records
    if min_partitions is None and max_records is None:
        assert parts == whole
    assert split(whole, min_partitions, max_records) == parts, "the same at every call"


@pytest.mark.parametrize(
    ("lengths", "min_partitions", "expected"),
    [
        # Of Spark's KafkaOffsetRangeCalculatorSuite.
        ([1], 3, [1]),
        ([100], 2, [50, 50]),
        ([100, 100], 4, [50, 50, 50, 50]),
        ([1, 7], 4, [1, 2, 2, 3]),
        ([1, 21], 3, [1, 10, 11]),
    ],
)
def test_long_ranges_are_split_in_proportion(
    lengths: list[int], min_partitions: int, expected: list[int]
) -> None:
    assert [len(one) for one in split(ranges(lengths), min_partitions, None)] == expected


@given(LENGTHS, st.integers(1, 5_000))
def test_limit_is_kept_and_shared(lengths: list[int], most: int) -> None:
    whole = ranges(lengths)
    ends = limited(whole, most)
    counts = [ends[one.queue] - one.start for one in whole]
    assert sum(counts) <= most
    assert all(0 <= count <= length for count, length in zip(counts, lengths, strict=True))
    assert sum(counts) > 0
    assert sum(counts) >= min(most, sum(lengths)) - len(lengths), "rounded down, no more"


def test_every_queue_advances_under_a_limit() -> None:
    start = {queue(0): 0, queue(1): 0, queue(2): 0}
    end = {queue(0): 1_000, queue(1): 1, queue(2): 1}
    batches = 0
    while start[queue(1)] < 1 or start[queue(2)] < 1:
        start |= limited(ranges_between(start, end), 2)
        batches += 1
        assert batches < 10


def test_unknown_or_passed_offsets_make_no_range() -> None:
    assert ranges_between({queue(0): 5, queue(1): 9}, {queue(0): 7, queue(1): 3, queue(2): 4}) == [
        QueueRange(queue(0), 5, 7)
    ]


@given(st.lists(st.integers(1, 3_000), max_size=300), COUNTS | st.integers(60, 400), COUNTS)
def test_short_ranges_share_partitions_within_limits(
    lengths: list[int], min_partitions: int | None, max_records: int | None
) -> None:
    whole = ranges(lengths)
    partitions = shared(whole, min_partitions, max_records)
    assert [one for some in partitions for one in some] == whole, "all, in order"
    assert len(partitions) >= min(len(whole), max(PARTITIONS, min_partitions or 0))
    most = min(SHARED_MESSAGES, max_records or SHARED_MESSAGES)
    assert all(len(some) == 1 or sum(map(len, some)) <= most for some in partitions)


def test_thousand_short_ranges_are_few_partitions() -> None:
    assert len(shared(ranges([100] * 1_000), None, None)) == 67
    assert len(shared(ranges([100] * PARTITIONS), None, None)) == PARTITIONS
    assert len(shared(ranges([SHARED_MESSAGES] * 1_000), None, None)) == 1_000
