"""Wait until a stored message is as safe as flushDiskType and brokerRole ask.

Source: store/CommitLog.java#asyncPutMessage (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.store.puts import PutMessageResult

Done = Callable[[PutMessageStatus], None]


def when_durable(broker: Broker, result: PutMessageResult, done: Done) -> None:
    """Call ``done`` with the put's status when all waits are over, which may be at once.

    There are three waits, and all begin now: for the flush, for a slave, and for the queue, which
    the records of a large batch reach in slices. If the first two time out, the status is that of
    the slave.
    """
    disk, ha = broker.store.disk, broker.ha
    wait = _Wait(result.status, done)
    if result.flush_to is not None and disk is not None:
        wait.left += 1
        disk.flush.when_flushed(wait.flushed)
    if result.replicate_to is not None and ha is not None:
        wait.left += 1
        ha.when_transferred(result.replicate_to, wait.transferred)
    if result.when_queued is not None:
        wait.left += 1
        result.when_queued(wait.one_less)
    wait.one_less()


class _Wait:
    """The waits of one put: ``left`` counts those that are not over, and one for the caller."""

    __slots__ = ("_done", "_status", "left")

    def __init__(self, status: PutMessageStatus, done: Done) -> None:
        self._status = status
        self._done = done
        self.left = 1

    def flushed(self, in_time: bool) -> None:
        if not in_time and self._status is PutMessageStatus.PUT_OK:
            self._status = PutMessageStatus.FLUSH_DISK_TIMEOUT
        self.one_less()

    def transferred(self, in_time: bool) -> None:
        if not in_time:
            self._status = PutMessageStatus.FLUSH_SLAVE_TIMEOUT
        self.one_less()

    def one_less(self) -> None:
        self.left -= 1
        if not self.left:
            self._done(self._status)
