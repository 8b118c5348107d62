"""No message is delivered before its delay is over, by the clock of its broker."""

from __future__ import annotations

from collections.abc import Iterator

from fakemq.events.core import ClockMoved, ClockSkewed, Scheduled, ScheduledDelivered
from fakemq.sim.history import History, Violation

NAME = "no delivery before its delay"


def too_early(history: History) -> Iterator[Violation]:
    """Yield messages that left their delay level before they were due, or never were in it.

    A restarted broker may deliver a message again, but not earlier.

    A message is excused if its broker's clock was set back while it waited: its due time is then
    later than the delay allows, and the broker delivers it at once.
    Source: broker/schedule/ScheduleMessageService.java#correctDeliverTimestamp (4.9.7)
    """
    scheduled: dict[tuple[str, int], Scheduled] = {}
    excused: set[tuple[str, int]] = set()
    skew_ms: dict[str, int] = {}
    for entry in history.entries:
        event = entry.event
        if isinstance(event, Scheduled):
            place = (event.node, event.phy_offset)
            scheduled[place] = event
            excused.discard(place)
        elif isinstance(event, ClockSkewed):
            if event.skew_ms < skew_ms.get(event.node, 0):
                excused |= {place for place in scheduled if place[0] == event.node}
            skew_ms[event.node] = event.skew_ms
        elif isinstance(event, ClockMoved):
            if event.by_ms < 0:
                excused |= scheduled.keys()
        elif isinstance(event, ScheduledDelivered):
            place = (event.node, event.from_phy_offset)
            one, now_ms = scheduled.get(place), entry.at_ms + skew_ms.get(event.node, 0)
            wrong = ""
            if one is None or (one.msg_id, one.level) != (event.msg_id, event.level):
                wrong = f"and was never scheduled at offset {event.from_phy_offset} of its log"
            elif place not in excused and now_ms < one.due_at_ms:
                wrong = f"{one.due_at_ms - now_ms} ms too early"
            if wrong:
                yield Violation(
                    NAME,
                    f"{event.msg_id} for {event.topic} left level {event.level} of {event.node}"
                    f" {wrong}",
                    (event.msg_id,),
                )
