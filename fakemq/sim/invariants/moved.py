"""Messages that a member of a group dropped, because another master moved it back.

A member pulls from one master, and next from another one, whose log has less: a replaced one that
does not know it yet, or a later one without what the first let consumers read too early. That one
answers PULL_OFFSET_MOVED with the end of its queue. Java's client then drops all that it holds of
the queue, and commits that end: also messages before it, which each master has, are passed over.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java#pullMessage, OFFSET_ILLEGAL (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fakemq.events.core import DeadLettered, Delivered, PullMoved, SentBack
from fakemq.sim.events import Consumed
from fakemq.sim.history import broker_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fakemq.journal.entries import Entry
    from fakemq.journal.journal import Journal
    from fakemq.sim.invariants.given import Place


class _Reading(NamedTuple):
    """A queue that a group reads."""

    broker: str
    group: str
    topic: str
    queue_id: int


class _Held:
    """What members hold of a queue."""

    def __init__(self) -> None:
        self.of = "", 0
        """The master of the last pull with messages, and its epoch."""
        self.offsets: set[int] = set()
        """Delivered, and neither consumed nor sent back."""


class MovedReaders:
    """The members of a run that were moved back; ``epoch_of`` returns the epoch of a node."""

    def __init__(self, journal: Journal, epoch_of: Callable[[str], int]) -> None:
        self._epoch_of = epoch_of
        self._held: dict[_Reading, _Held] = {}
        self._failed: dict[tuple[str, str], tuple[_Reading, int]] = {}
        """Group and id of a message → its queue, and its offset there."""
        self._dropped: dict[_Reading, set[int]] = {}
        journal.listen(self._delivered, Delivered)
        journal.listen(self._consumed, Consumed)
        journal.listen(self._sent_back, SentBack, DeadLettered)
        journal.listen(self._moved, PullMoved)

    def dropped(self, name: str, there: Mapping[Place, str]) -> Iterator[tuple[str, str]]:
        """Yield group and id of the messages of a group of brokers that members dropped.

        ``there`` are those that its last master has.
        """
        for reading, offsets in self._dropped.items():
            if reading.broker == name:
                for offset in offsets:
                    msg_id = there.get((reading.topic, reading.queue_id, offset))
                    if msg_id is not None:
                        yield reading.group, msg_id

    def _delivered(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, Delivered)
        name = broker_name(event.node)
        reading = _Reading(name, event.group, event.topic, event.queue_id)
        held = self._held.setdefault(reading, _Held())
        held.of = event.node, self._epoch_of(event.node)
        held.offsets.update(event.offsets)

    def _consumed(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, Consumed)
        reading = _Reading(event.broker, event.group, event.topic, event.queue_id)
        if event.well:
            self._release(reading, event.queue_offset)
        else:
            self._failed[event.group, event.msg_id] = reading, event.queue_offset

    def _sent_back(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, SentBack | DeadLettered)
        failed = self._failed.pop((event.group, event.msg_id), None)
        if failed is not None:
            self._release(*failed)

    def _release(self, reading: _Reading, offset: int) -> None:
        held = self._held.get(reading)
        if held is not None:
            held.offsets.discard(offset)

    def _moved(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, PullMoved)
        name = broker_name(event.node)
        reading = _Reading(name, event.group, event.topic, event.queue_id)
        held = self._held.get(reading)
        is_other = held is not None and held.of != (event.node, self._epoch_of(event.node))
        if held is not None and is_other and event.next_offset < event.offset:
            dropped = {one for one in held.offsets if one < event.next_offset}
            self._dropped.setdefault(reading, set()).update(dropped)
            held.offsets.clear()
