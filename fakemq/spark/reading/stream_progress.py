"""How far a stream may go: from what it has read and what there is."""

from __future__ import annotations

from collections.abc import Mapping

from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.spark.reading.data_loss import report_data_loss
from fakemq.spark.reading.offsets import Offsets, queue_text
from fakemq.spark.reading.queue_bounds import Bounds


def reachable(start: Offsets, bounds: Mapping[MessageQueue, Bounds], *, fail: bool) -> Offsets:
    """The offset up to which each queue could be read now.

    A queue that is new joins with its earliest offset, and what it has is read from the next
    batch on: so its first range, too, is in the checkpoint. One whose broker is away stays where
    it is. DataLossError, if ``fail``, where what follows ``start`` is not there any more; else
    a queue that was made anew is joined again.
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


def _lost(queue: MessageQueue, begin: int, here: Bounds, goes_on: int, *, fail: bool) -> None:
    report_data_loss(
        f"{queue_text(queue)}: the stream has come to offset {begin}, and the offsets there are"
        f" {here.min_offset} to {here.max_offset - 1}",
        f"reading goes on at {goes_on}",
        fail=fail,
    )
