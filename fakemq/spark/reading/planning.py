"""Ranges of queues: how much of them one batch reads, and how they become partitions.

Source: Spark's Kafka connector, KafkaOffsetRangeCalculator, KafkaMicroBatchStream#rateLimit
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.spark.reading.offsets import Offsets

PARTITIONS = 64
"""Up to this number of ranges, each is a partition of its own."""
SHARED_MESSAGES = 10_000


class QueueRange(msgspec.Struct, frozen=True, order=True):
    """The offsets of a queue from ``start`` up to but not including ``end``."""

    queue: MessageQueue
    start: int
    end: int

    def __len__(self) -> int:
        return max(self.end - self.start, 0)


def ranges_between(start: Mapping[MessageQueue, int], end: Offsets) -> list[QueueRange]:
    """Return the ranges to read, sorted.

    A queue that is not in ``start``, or starts at or after its ``end``, has no range.
    """
    both = sorted(queue for queue in end if queue in start)
    return [one for queue in both if len(one := QueueRange(queue, start[queue], end[queue]))]


def split(
    ranges: Sequence[QueueRange], min_partitions: int | None, max_records: int | None
) -> list[QueueRange]:
    """Return about ``min_partitions`` parts if there are fewer ranges, of at most ``max_records``.

    Long ranges are cut in proportion to their length. A part belongs to one queue.
    """
    if max_records is not None:
        ranges = [part for one in ranges for part in _cut(one, -(-len(one) // max_records))]
    if min_partitions is None or len(ranges) >= min_partitions:
        return list(ranges)
    total = sum(map(len, ranges))
    whole = [one for one in ranges if _share(len(one), total, min_partitions) == 1]
    left = total - sum(map(len, whole))
    parts = max(min_partitions - len(whole), 1)
    found = []
    for one in ranges:
        is_whole = _share(len(one), total, min_partitions) == 1
        found += [one] if is_whole else _cut(one, _share(len(one), left, parts))
    return found


def shared(
    ranges: Sequence[QueueRange], min_partitions: int | None, max_records: int | None
) -> list[tuple[QueueRange, ...]]:
    """Return the partitions: of many short ranges, neighbours share one.

    A task costs as much as reading thousands of messages. At least ``min_partitions`` and 64
    partitions remain, and a shared one has at most ``max_records`` and 10,000 messages.
    """
    most_ranges = len(ranges) // max(PARTITIONS, min_partitions or 0)
    most = min(SHARED_MESSAGES, max_records or SHARED_MESSAGES)
    found: list[tuple[QueueRange, ...]] = []
    count = 0
    for one in ranges:
        count += len(one)
        if found and len(found[-1]) < most_ranges and count <= most:
            found[-1] += (one,)
        else:
            found.append((one,))
            count = len(one)
    return found


def _share(length: int, total: int, parts: int) -> int:
    return max((2 * length * parts + total) // (2 * total), 1)  # Math.round


def _cut(one: QueueRange, parts: int) -> list[QueueRange]:
    """Return parts of nearly equal length, none of them empty."""
    parts = min(parts, len(one))
    cuts = [one.start + len(one) * number // parts for number in range(parts + 1)]
    return [QueueRange(one.queue, a, b) for a, b in pairwise(cuts)]


def limited(ranges: Sequence[QueueRange], most: int) -> Offsets:
    """Return end offsets such that at most ``most`` messages are read, in proportion per queue.

    A queue whose share is less than one message gets one while any are left. Which queue is served
    first changes as offsets move, so that no queue waits forever.
    """
    total = sum(map(len, ranges))
    if total <= most:
        return {one.queue: one.end for one in ranges}
    found = {one.queue: one.start for one in ranges}
    first = sum(one.start for one in ranges) % len(ranges)
    left = most
    for one in (*ranges[first:], *ranges[:first]):
        count = min(max(most * len(one) // total, 1), left)
        found[one.queue] += count
        left -= count
    return found
