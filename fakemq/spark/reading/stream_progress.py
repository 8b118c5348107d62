"""How far a stream can read: from what it has read and what exists."""

from __future__ import annotations

from collections.abc import Mapping

from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.spark.reading.data_loss import report_data_loss
from fakemq.spark.reading.offsets import Offsets, queue_text
from fakemq.spark.reading.queue_bounds import Bounds


def reachable(start: Offsets, bounds: Mapping[MessageQueue, Bounds], *, fail: bool) -> Offsets:
    """Return the offset up to which each queue could be read now.

    There are four cases:
    1. A new queue joins with its earliest offset. Its messages are read from the next batch on, so
       that its first range, too, is in the checkpoint.
    2. A queue whose broker is away keeps its offset.
    3. If messages after ``start`` no longer exist, raise DataLossError if ``fail``.
    4. If ``fail`` is false, a queue that was created again starts at its earliest offset.
    """
    ends = dict(start)
    for queue, here in bounds.items():
        begin = start.get(queue)
        if begin is None:
            ends[queue] = here.min_offset
        elif here.max_offset >= begin:
            if here.min_offset > begin and fail and not here.is_slave:
                _lost(queue, begin, here, here.min_offset, fail=True)
            ends[queue] = here.max_offset
        elif not here.is_slave:
            _lost(queue, begin, here, here.min_offset, fail=fail)
            ends[queue] = here.min_offset
    return ends


def _lost(queue: MessageQueue, begin: int, here: Bounds, next_offset: int, *, fail: bool) -> None:
    report_data_loss(
        f"{queue_text(queue)}: the stream has reached offset {begin}, but the offsets are"
        f" {here.min_offset} to {here.max_offset - 1}",
        f"reading continues at {next_offset}",
        fail=fail,
    )
