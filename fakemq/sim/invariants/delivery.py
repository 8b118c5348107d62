"""At the end every message was delivered to every subscribed group, or is a dead letter."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from fakemq.events.core import (
    DeadLettered,
    HalfStored,
    Scheduled,
    ScheduledDelivered,
    SentBack,
    TransactionEnded,
)
from fakemq.events.pop import Revived
from fakemq.events.timers import TimerDelivered, TimerDiscarded, TimerRolled
from fakemq.sim.events import Consumed, Decided, RecallEnded, Sent
from fakemq.sim.history import History, Violation, broker_name
from fakemq.sim.invariants.durability import SEND_OK, IsStored

NAME = "delivered or dead"

RECORDS = (
    *(DeadLettered, Scheduled, ScheduledDelivered, SentBack, TransactionEnded),
    *(Revived, TimerDelivered, TimerRolled),
)
"""Events about a record of a message; its place in the log is ``phy_offset``."""


def undelivered(
    history: History,
    groups: Mapping[str, Collection[str]],
    lost_from: Mapping[str, int],
    is_stored: IsStored,
    lost_pops: Collection[tuple[str, str]] = (),
) -> Iterator[Violation]:
    """Yield messages that were stored and committed, but neither consumed nor dead letters.

    ``groups`` maps a group to its topics. The brokers in ``lost_from`` lost their logs from an
    offset on: messages with a record there may stay undelivered. No group may consume a message
    that was rolled back. A dead letter counts only if it `is_stored`. ``lost_pops`` has groups and
    message ids of which a broker lost that it had delivered them. A timer message need not come if
    someone tried to recall it, or if its broker gave it up, as Java's does.
    """
    done: dict[str, set[str]] = {group: set() for group in groups}
    last: dict[tuple[str, str], Consumed] = {}
    for consumed in history.of(Consumed):
        last[consumed.group, consumed.msg_id] = consumed
        if consumed.well:
            done[consumed.group].add(consumed.msg_id)
    lost_letters: dict[tuple[str, str], DeadLettered] = {}
    for dead in history.of(DeadLettered):
        if is_stored(broker_name(dead.node), dead.phy_offset, dead.msg_id):
            done.setdefault(dead.group, set()).add(dead.msg_id)
        else:
            lost_letters[dead.group, dead.msg_id] = dead
    lost = _Lost(history, lost_from)
    gone = {one.msg_id for one in history.of(TimerDiscarded)}
    gone |= {one.msg_id for one in history.of(RecallEnded)}
    rolled_back = {one.key for one in history.of(Decided) if one.how == "rollback"}
    for sent in history.of(Sent):
        if sent.status != SEND_OK or sent.msg_id in gone or lost.excuses(sent):
            continue
        for group, topics in groups.items():
            if sent.topic not in topics or (group, sent.msg_id) in lost_pops:
                continue
            had = last.get((group, sent.msg_id))
            if sent.key in rolled_back:
                if had is not None:
                    text = f"{_name(sent)} was rolled back, and consumed by {had.node}"
                    yield Violation(NAME, text, (sent.key, sent.msg_id))
            elif sent.msg_id not in done[group]:
                how = "it never consumed it"
                if had is not None:
                    how = f"{had.node} sent it back, and it never came again"
                letter = lost_letters.get((group, sent.msg_id))
                if letter is not None:
                    how = f"no broker has its dead letter, offset {letter.phy_offset} of the log"
                text = f"{_name(sent)} was not delivered to {group}: {how}"
                yield Violation(NAME, text, (sent.key, sent.msg_id))


class _Lost:
    """The messages that no broker may be able to deliver, because the ends of logs were lost."""

    def __init__(self, history: History, lost_from: Mapping[str, int]) -> None:
        self._lost_from = lost_from
        self._last: dict[str, int] = {}
        """Message id → log offset of the message's last record."""
        self._open: set[str] = set()
        """Ids of half messages that were neither committed nor rolled back."""
        if not lost_from:
            return
        self._open = {half.msg_id for half in history.of(HalfStored)}
        for entry in history.entries:
            event = entry.event
            if isinstance(event, TransactionEnded):
                self._open.discard(event.msg_id)
            if isinstance(event, RECORDS):
                last = self._last.get(event.msg_id, 0)
                self._last[event.msg_id] = max(last, event.phy_offset or 0)

    def excuses(self, sent: Sent) -> bool:
        """Return True if a record of the message was lost, or its transaction is still open."""
        start = self._lost_from.get(sent.broker)
        if start is None:
            return False
        last = max(sent.phy_offset, self._last.get(sent.msg_id, 0))
        return last >= start or sent.msg_id in self._open


def _name(sent: Sent) -> str:
    return (
        f"{sent.key} ({sent.msg_id}), sent to {sent.topic} queue {sent.queue_id} at {sent.broker}"
    )
