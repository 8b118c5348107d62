"""Sends of a SYNC_MASTER that wait for a slave, one after the other.

Source: store/ha/HAService.java#GroupTransferService (4.9.7)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.timers import Timer

LOOK_MS = 1_000
"""How often Java looks at the first waiting send without an acknowledgement, in ms."""


class _Request:
    __slots__ = ("deadline_ms", "done", "next_offset", "outside")

    def __init__(
        self, next_offset: int, deadline_ms: int, outside: bool, done: Callable[[bool], None]
    ) -> None:
        self.next_offset = next_offset
        self.deadline_ms = deadline_ms
        self.outside = outside
        self.done = done


class GroupTransferService:
    """Waiting sends in the order of their arrival; only the first one is checked.

    So a time-out may be noticed up to a second late, and no send is answered before the one in
    front of it.
    """

    look_ms: int | None = LOOK_MS
    """How often time-outs are looked for; None if each is noticed at once."""

    def __init__(self, clock: NodeClock) -> None:
        self._clock = clock
        self._requests: deque[_Request] = deque()
        self._timer: Timer | None = None
        self._acked = 0
        self._answering = False

    def __len__(self) -> int:
        return len(self._requests)

    def put_request(
        self, next_offset: int, timeout_ms: int, done: Callable[[bool], None], *, outside: bool
    ) -> None:
        """Call ``done`` with True when a slave has all before ``next_offset``, False on time-out.

        ``outside`` says that the slaves live outside the cluster.
        """
        deadline_ms = self._clock.elapsed_ms(outside=outside) + timeout_ms
        self._requests.append(_Request(next_offset, deadline_ms, outside, done))
        if len(self._requests) == 1:
            self._look()

    def notify_transfer_some(self, acked_offset: int) -> None:
        """Take the report of a slave that it has everything before ``acked_offset``."""
        self._acked = acked_offset
        self._look()

    def stop(self, *, notify: bool = False) -> None:
        """Stop waiting; with ``notify`` every send that waits is answered as timed out."""
        requests, self._requests = self._requests, deque()
        self._clock.cancel(self._timer)
        self._timer = None
        self._acked = 0
        if notify:
            for request in requests:
                request.done(False)

    def _look(self) -> None:
        if self._answering:
            return  # called by a callback of the loop below, which continues
        self._answering = True
        try:
            while self._requests:
                first = self._requests[0]
                transferred = self._acked >= first.next_offset
                if (
                    not transferred
                    and self._clock.elapsed_ms(outside=first.outside) < first.deadline_ms
                ):
                    break
                self._requests.popleft()
                first.done(transferred)
        finally:  # also after an error in one callback: the others are due
            self._answering = False
            self._wait()

    def _wait(self) -> None:
        self._clock.cancel(self._timer)
        self._timer = None
        if self._requests:
            first, wait_ms = self._requests[0], self.look_ms
            if wait_ms is None:
                wait_ms = first.deadline_ms - self._clock.elapsed_ms(outside=first.outside)
            self._timer = self._clock.call_later(
                wait_ms, self._look, kind="ha_ack_wait", outside=first.outside
            )
