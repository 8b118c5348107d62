"""Nothing is delivered before its delay is over, by the clock of its broker."""

from __future__ import annotations

from collections.abc import Iterator

from fakemq.events import ClockMoved, ClockSkewed, Scheduled, ScheduledDelivered
from fakemq.sim.history import History, Violation

NAME = "no delivery before its delay"


def too_early(history: History) -> Iterator[Violation]:
    """Messages that left their delay level before they were due.

    One that waited while its broker's clock was set back is excused: it looks to be due later than
    it can be, and is delivered at once. Source: broker/schedule/ScheduleMessageService.java
    #correctDeliverTimestamp (4.9.7)
    """
    waiting: dict[tuple[str, int], Scheduled] = {}
    skew_ms: dict[str, int] = {}
    for entry in history.entries:
        event = entry.event
        if isinstance(event, Scheduled):
            waiting[event.node, event.phy_offset] = event
        elif isinstance(event, ClockSkewed):
            if event.skew_ms < skew_ms.get(event.node, 0):
                waiting = {place: one for place, one in waiting.items() if one.node != event.node}
            skew_ms[event.node] = event.skew_ms
        elif isinstance(event, ClockMoved):
            waiting = {} if event.by_ms < 0 else waiting
        elif isinstance(event, ScheduledDelivered):
            one = waiting.pop((event.node, event.from_phy_offset), None)
            now_ms = entry.at_ms + skew_ms.get(event.node, 0)
            if one is not None and now_ms < one.due_at_ms:
                yield Violation(
                    NAME,
                    f"{event.msg_id} for {event.topic} left level {event.level} of {event.node}"
                    f" {one.due_at_ms - now_ms} ms too early",
                    (event.msg_id,),
                )
