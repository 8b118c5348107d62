"""A timer message comes once, not before its time, and not at all if it was recalled."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from fakemq.events.core import ClockMoved, ClockSkewed, NodeStopped
from fakemq.events.store import UnsyncedLost
from fakemq.events.timers import TimerDelivered, TimerDiscarded, TimerSet
from fakemq.sim.events import RecallEnded
from fakemq.sim.history import MASTER, History, Violation, broker_name

FLUSH_MS = 1_000
"""How often a broker with a directory writes how far its timers are (timerFlushIntervalMs)."""
NAME = "timers come once and in time"


def wrong_timers(
    history: History, lost: Collection[str], *, on_disk: bool = False
) -> Iterator[Violation]:
    """Yield timer messages that came too early, a second time, or although they were recalled.

    A broker whose store is ``on_disk`` writes every `FLUSH_MS` how far it is: after a kill it may
    deliver the last messages again, and after a crash of its machine all. If its clock has gone
    back, a start may deliver again what is due after its present time. One in ``lost`` lost a
    part of its log, and may have no deletion. A deletion that comes when its message is being
    delivered is discarded, which is an event, too. A broker whose clock has gone back takes the
    deletion of a message that it has delivered, as Java does: it looks at the time only.
    """
    due: dict[tuple[str, int], TimerSet] = {}
    came: dict[tuple[str, int], int] = {}
    may_repeat: set[tuple[str, int]] = set()
    due_again: set[tuple[str, int]] = set()
    skew_ms: dict[str, int] = {}
    for entry in history.entries:
        event = entry.event
        if isinstance(event, TimerSet):
            place = (event.node, event.phy_offset)
            due[place] = event
        elif isinstance(event, ClockSkewed):
            skew_ms[event.node] = event.skew_ms
            due_again |= _due_behind(entry.at_ms + event.skew_ms, event.node, came, due)
        elif isinstance(event, ClockMoved):
            for node in dict.fromkeys(node for node, _ in came):
                now_ms = entry.at_ms + skew_ms.get(node, 0)
                due_again |= _due_behind(now_ms, node, came, due)
        elif isinstance(event, UnsyncedLost):
            may_repeat |= {place for place in came if place[0] == event.node}
        elif isinstance(event, NodeStopped):
            # A start reads from its own time on: what a clock that has gone back since has
            # delivered may come again.
            now_ms = entry.at_ms + skew_ms.get(event.node, 0)
            may_repeat |= _due_behind(now_ms, event.node, came, due)
            if on_disk and event.how == "kill":
                may_repeat |= {
                    place
                    for place, at_ms in came.items()
                    if place[0] == event.node and at_ms >= entry.at_ms - FLUSH_MS
                }
        elif isinstance(event, TimerDelivered):
            place = (event.node, event.from_phy_offset)
            one, now_ms = due.get(place), entry.at_ms + skew_ms.get(event.node, 0)
            wrong = ""
            if one is None or one.msg_id != event.msg_id:
                wrong = f"was never set at offset {event.from_phy_offset} of its log"
            elif now_ms < one.due_at_ms:
                wrong = f"came {one.due_at_ms - now_ms} ms too early"
            elif place in came and place not in may_repeat:
                wrong = "came a second time"
            may_repeat.discard(place)
            came[place] = entry.at_ms
            if wrong:
                yield _of(event.msg_id, event.node, wrong)
    yield from _recalled(history, came.keys() - due_again, lost)


def _due_behind(
    now_ms: int,
    node: str,
    came: Collection[tuple[str, int]],
    due: Mapping[tuple[str, int], TimerSet],
) -> set[tuple[str, int]]:
    """Return where the messages are that a node has delivered though they are due only later."""
    return {
        place
        for place in came
        if place[0] == node and place in due and due[place].due_at_ms > now_ms
    }


def _recalled(
    history: History, came: Collection[tuple[str, int]], lost: Collection[str]
) -> Iterator[Violation]:
    too_late = {(event.node, event.msg_id) for event in history.of(TimerDiscarded)}
    for recall in history.of(RecallEnded):
        node = f"{recall.broker}{MASTER}"
        if not recall.well or node in lost or (node, recall.msg_id) in too_late:
            continue
        if (node, recall.phy_offset) in came:
            yield _of(recall.msg_id, node, "came although it was recalled")


def _of(msg_id: str, node: str, wrong: str) -> Violation:
    return Violation(NAME, f"{msg_id}, a timer message of {broker_name(node)}, {wrong}", (msg_id,))
