"""No group gets a popped message again before its time, nor one that it has acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.sim.history import Violation
from fakemq.sim.pops import PopHistory, PopHold

if TYPE_CHECKING:
    from fakemq.events.pop import Revived

NAME = "no redelivery before its time"


class Invisibility:
    """Judges pops and revivals while they are followed; times are those of the broker's clock.

    There are four ways in which a message may come again:
    1. It is revived, behind the end of its invisible time, unless it was acknowledged.
    2. In order it is popped again, by the same attempt at any time, by another one when no message
       of its queue is out any more.
    3. After a kill it is popped again, because the broker's files are older than that.
    4. Without order, a slave popped it, from which proxies pop while the master has no route. The
       slave stores no checkpoint, and forgets within 5 s what it popped: it pops the message
       again. Acknowledgements and changes go to the master, which has not popped it, and does.
       Source: proxy/service/route/TopicRouteWrapper.java#getMasterAddrPrefer,
       broker/processor/PopBufferMergeService.java#run, #putCkToStore (5.5.0)
    """

    def __init__(self) -> None:
        self.pops = PopHistory(self._popped, self._revived)
        self.found: list[Violation] = []

    def _popped(self, hold: PopHold) -> None:
        if hold.in_order:
            for one in self.pops.of(hold.queue):
                if (
                    one.is_open
                    and not one.uncertain
                    and hold.pop_time_ms < one.until_ms
                    and one.pop_time_ms != hold.pop_time_ms
                    and (one.attempt_id is None or one.attempt_id != hold.attempt_id)
                ):
                    self._add(hold, f"while offset {one.queue_offset} was out until {one.until_ms}")
            return
        last = self.pops.last(hold.queue, hold.queue_offset)
        if last is None or last.may_repeat or last.uncertain or last.popped_at_slave:
            return
        if last.acked_at_ms is not None:
            self._add(hold, "after it was acknowledged")
        elif hold.pop_time_ms < last.until_ms:
            self._add(hold, f"{last.until_ms - hold.pop_time_ms} ms too early")

    def _revived(self, event: Revived, hold: PopHold | None, now_ms: int) -> None:
        wrong = ""
        if hold is None:
            wrong = "which no pop returned"
        elif hold.uncertain:
            return
        elif hold.acked_at_ms is not None:
            wrong = "which was acknowledged"
        elif hold.replaced:
            wrong = "which is invisible until another time"
        elif hold.revived and not hold.may_repeat:
            wrong = "which was revived before"
        elif now_ms < hold.until_ms:
            wrong = f"{hold.until_ms - now_ms} ms too early"
        if wrong:
            text = (
                f"{event.node} revived offset {event.queue_offset} of {event.topic} queue"
                f" {event.queue_id} for {event.group} ({event.msg_id}), {wrong}"
            )
            self.found.append(Violation(NAME, text, (event.msg_id,)))

    def _add(self, hold: PopHold, why: str) -> None:
        text = f"{hold} at {hold.pop_time_ms}, was popped {why}"
        self.found.append(Violation(NAME, text, (hold.queue.node,)))
