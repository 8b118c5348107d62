"""What the journal says about POP, by the place of a message; a part of the chronicle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from fakemq.events.core import Delivered
from fakemq.events.grpc import HandleRenewed
from fakemq.events.pop import Acknowledged, InvisibleTimeChanged, Popped, Revived
from fakemq.journal.entries import Entry

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

    def is_acknowledged(self, place: Place, group: str) -> bool:
        """Return whether a group acknowledged a message before it was revived."""
        return any(
            getattr(one.event, "group", "") == group and not self.is_late(place, one)
            for one in self.acknowledged.get(place, ())
        )

    def is_revived(self, place: Place, group: str) -> bool:
        """Return whether a message was stored again in the retry topic of a group."""
        return any(getattr(one.event, "group", "") == group for one in self.revived.get(place, ()))

    def is_late(self, place: Place, entry: Entry) -> bool:
        """Return whether an entry of a group came after the message was revived for that group."""
        group = getattr(entry.event, "group", "")
        return any(
            one.seq < entry.seq and getattr(one.event, "group", "") == group
            for one in self.revived.get(place, ())
        )
