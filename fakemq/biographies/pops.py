"""What the journal says about POP, by the place of a message; a part of the chronicle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from fakemq.events.core import ChangesLost, Delivered
from fakemq.events.grpc import HandleRenewed
from fakemq.events.pop import Acknowledged, InvisibleTimeChanged, Popped, Revived
from fakemq.journal.entries import Entry
from fakemq.journal.journal import clock_text

Place: TypeAlias = tuple[str, str, int, int]
"""brokerName, topic, queue id and queue offset."""


class Pops:
    """Pops, acknowledgements, changes of the invisible time and revivals of messages."""

    def __init__(self) -> None:
        self.of_delivery: dict[int, Entry] = {}
        """Number of the entry of a delivery → the entry of its pop, if it was one."""
        self.acknowledged: dict[Place, list[Entry]] = defaultdict(list)
        self.changed: dict[Place, list[Entry]] = defaultdict(list)
        self.revived: dict[Place, list[Entry]] = defaultdict(list)
        self.renewed: dict[tuple[str, int, int], list[Entry]] = defaultdict(list)
        """Group, queue id and queue offset → what the gRPC front did with a message's time."""
        self.lost: list[Entry] = []
        """Kills that lost what groups had popped in order."""

    def by_front(self, changed: Entry) -> HandleRenewed | None:
        """Return what the front wanted by a change of an invisible time; None if it was no wish of
        its own: a broker's change follows it, and no other entry of the message is in between."""
        event = changed.event
        assert isinstance(event, InvisibleTimeChanged)
        found = None
        for entry in self.renewed.get((event.group, event.queue_id, event.queue_offset), ()):
            if entry.seq < changed.seq and entry.at_ms == changed.at_ms:
                found = entry
        if found is None:
            return None
        assert isinstance(found.event, HandleRenewed)
        return found.event

    def add(self, broker_name: str, entry: Entry) -> None:
        """Add an entry that concerns one message of a queue."""
        event = entry.event
        assert isinstance(event, Acknowledged | InvisibleTimeChanged | Revived)
        place = broker_name, event.topic, event.queue_id, event.queue_offset
        if isinstance(event, Acknowledged):
            self.acknowledged[place].append(entry)
        elif isinstance(event, InvisibleTimeChanged):
            self.changed[place].append(entry)
        else:
            self.revived[place].append(entry)

    def lost_with(self, deliveries: Iterable[Entry], place: Place) -> Iterator[tuple[Entry, str]]:
        """Yield each kill that made a message free again which a group had popped in order, and
        had not acknowledged, with the group."""
        pops = [self.of_delivery[one.seq] for one in deliveries if one.seq in self.of_delivery]
        for kill in self.lost:
            event = kill.event
            assert isinstance(event, ChangesLost)
            groups = (pop.event.group for pop in pops if isinstance(pop.event, Popped))
            for group in dict.fromkeys(groups):
                before = [one for one in pops if _is_out(one, event.node, group, kill)]
                if not before or before[-1].at_ms < event.since_ms:
                    continue
                if not self.is_done(place, group, before[-1].seq, kill.seq):
                    yield kill, group

    def forget(self, place: Place) -> None:
        """Forget a place: another message is there now."""
        for found in (self.acknowledged, self.changed, self.revived):
            found.pop(place, None)

    def groups(self, deliveries: Iterable[Entry]) -> set[str]:
        """Return the groups of which one of these deliveries was a pop."""
        return {
            one.event.group
            for one in deliveries
            if isinstance(one.event, Delivered) and one.seq in self.of_delivery
        }

    def last(self, deliveries: Iterable[Entry], group: str) -> Entry | None:
        """Return the last pop of a group among these deliveries."""
        found = None
        for one in deliveries:
            pop = self.of_delivery.get(one.seq)
            if pop is not None and isinstance(pop.event, Popped) and pop.event.group == group:
                found = pop
        return found

    def same_attempt(self, deliveries: Iterable[Entry], pop: Entry) -> str:
        """Return the attempt of a pop if an earlier one of these deliveries was for it, too; "" if
        none was. A client asks again for an attempt whose answer it has not got."""
        event = pop.event
        assert isinstance(event, Popped)
        for one in deliveries:
            other = self.of_delivery.get(one.seq)
            if other is None or other.seq >= pop.seq or not isinstance(other.event, Popped):
                continue
            if (other.event.group, other.event.attempt_id) == (event.group, event.attempt_id):
                return event.attempt_id or ""
        return ""

    def is_acknowledged(
        self, place: Place, group: str, since_seq: int = 0, until_seq: int | None = None
    ) -> bool:
        """Return whether an acknowledgement of a group had an effect on a message, between two
        entries."""
        return any(
            isinstance(one.event, Acknowledged)
            and one.event.group == group
            and one.event.has_effect
            for one in _between(self.acknowledged.get(place, ()), since_seq, until_seq)
        )

    def without_effect(self, place: Place, group: str) -> Entry | None:
        """Return the last acknowledgement of a group; None if that had an effect, or for none."""
        last = None
        for one in self.acknowledged.get(place, ()):
            if isinstance(one.event, Acknowledged) and one.event.group == group:
                last = None if one.event.has_effect else one
        return last

    def why_not(self, place: Place, entry: Entry) -> str:
        """Return why an acknowledgement, or a change of the invisible time, has no effect."""
        event = entry.event
        assert isinstance(event, Acknowledged | InvisibleTimeChanged)

        def is_before(one: Entry) -> bool:
            other = one.event
            assert isinstance(other, Acknowledged | InvisibleTimeChanged)
            same = (other.group, other.pop_time_ms) == (event.group, event.pop_time_ms)
            return other.has_effect and same and one.seq < entry.seq

        for one in filter(is_before, self.acknowledged.get(place, ())):
            return f"it was acknowledged at {clock_text(one.at_ms)}"
        for one in filter(is_before, self.changed.get(place, ())):
            if getattr(one.event, "next_pop_time_ms", 0) != event.pop_time_ms:
                changed = f"its invisible time was changed at {clock_text(one.at_ms)}"
                return f"{changed}, which gave a new handle"
        if self.is_late(place, entry):
            return "it had been revived"
        return "no message is out for it: it is of an earlier pop, or of none"

    def is_done(
        self, place: Place, group: str, since_seq: int = 0, until_seq: int | None = None
    ) -> bool:
        """Return whether a pop of a message ended between two entries: it was acknowledged, or
        stored again in the retry topic of the group."""
        revived = _between(self.revived.get(place, ()), since_seq, until_seq)
        return self.is_acknowledged(place, group, since_seq, until_seq) or any(
            getattr(one.event, "group", "") == group for one in revived
        )

    def is_late(self, place: Place, entry: Entry) -> bool:
        """Return whether an entry of a group came after the message was revived for that group."""
        group = getattr(entry.event, "group", "")
        return any(
            one.seq < entry.seq and getattr(one.event, "group", "") == group
            for one in self.revived.get(place, ())
        )


def _between(entries: Iterable[Entry], since_seq: int, until_seq: int | None) -> Iterator[Entry]:
    """Yield the entries after one number and before another; None is the end."""
    for one in entries:
        if one.seq > since_seq and (until_seq is None or one.seq < until_seq):
            yield one


def _is_out(pop: Entry, node: str, group: str, kill: Entry) -> bool:
    """Return whether a pop in order by a group at a node was before a kill, which it outlasts."""
    event = pop.event
    return (
        isinstance(event, Popped)
        and event.in_order
        and (event.node, event.group) == (node, group)
        and pop.seq < kill.seq
        and event.invisible_until_ms - event.pop_time_ms > kill.at_ms - pop.at_ms
    )
