"""Events of the kinds that each message has, or each pull, kept as the values of their fields.

They are written with each message and seldom read, so the event is made when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from fakemq import events
from fakemq.events.core import (
    Delivered,
    Dispatched,
    Event,
    LogAppended,
    MessageChecked,
    OffsetCommitted,
    RequestHandled,
    RequestReceived,
)
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.protocol.properties import KEYS, UNIQ_CLIENT_MESSAGE_ID_KEYIDX, property_value

Noted: TypeAlias = "tuple[int, str, *tuple[object, ...]]"
"""The number of a kind, and the values of its fields in their order: the node, then its own."""

KINDS: tuple[type[Event], ...] = (
    RequestReceived,
    MessageChecked,
    LogAppended,
    Dispatched,
    RequestHandled,
    Delivered,
    OffsetCommitted,
)
# The numbers of the kinds: in a tuple of plain values only, the garbage collector looks once.
RECEIVED: Final = 0
CHECKED: Final = 1
APPENDED: Final = 2
DISPATCHED: Final = 3
HANDLED: Final = 4
DELIVERED: Final = 5
COMMITTED: Final = 6

STORED: Final = 7
"""The number of what is written with a put, and is no kind itself: an APPENDED and a DISPATCHED of
each record. Its values are topic, queue id, queue offset of the first record, the entries of all in
their queue, and a tuple with the `Names` of each."""
POPPED: Final = 8
ACKNOWLEDGED: Final = 9
_OF_POP: Final = {POPPED: "Popped", ACKNOWLEDGED: "Acknowledged"}
"""The kinds of POP by their names: most clusters need no such class."""

Names: TypeAlias = str | bytes
"""The unique id and the keys that a client gave a message, as bytes: the properties that have them.

A text is the id of a message without keys, "" for none.
"""


def is_noted(kind: type[Event]) -> bool:
    """Return whether events of a kind are kept as values, or may be."""
    return kind in KINDS or kind.__name__ in _OF_POP.values()


def _kind(number: int) -> type[Event]:
    name = _OF_POP.get(number)
    if name is None:
        return KINDS[number]
    kind: type[Event] = getattr(events, name)
    return kind


def kind_of(event: Event | Noted) -> type[Event]:
    """Return the kind of an event."""
    return _kind(event[0]) if isinstance(event, tuple) else type(event)


def event_of(event: Event | Noted) -> Event:
    """Return the event itself."""
    if not isinstance(event, tuple):
        return event
    kind = _kind(event[0])
    fields: dict[str, Any] = dict(zip(kind.__struct_fields__, event[1:], strict=True))
    return kind(**fields)


def names_of(kept: Names) -> tuple[str, str]:
    """Return the id and the keys themselves."""
    if isinstance(kept, str):
        return kept, ""
    text = kept.decode("utf-8", "replace")
    return property_value(text, UNIQ_CLIENT_MESSAGE_ID_KEYIDX), property_value(text, KEYS)


def unfolded(events: Iterable[Event | Noted]) -> Iterator[Event | Noted]:
    """Iterate over events, and over those that a `STORED` stands for."""
    for event in events:
        number = events_in(event)
        if number > 1:
            for index in range(number):
                yield _of_stored(index, event)
        else:
            yield event


def unfolded_at(events: Iterable[Event | Noted], index: int) -> Event | Noted:
    """Return one of what `unfolded` iterates over; IndexError if there are fewer."""
    for event in events:
        number = events_in(event)
        if index < number:
            return _of_stored(index, event) if number > 1 else event
        index -= number
    raise IndexError(index)


def events_in(event: Event | Noted) -> int:
    """Return how many events this one stands for."""
    if not isinstance(event, tuple) or event[0] != STORED:
        return 1
    names = event[-1]
    assert isinstance(names, tuple)
    return 2 * len(names)


def _of_stored(index: int, stored: Any) -> Noted:
    """Return one of the events of a put: of each record first APPENDED, then DISPATCHED."""
    _, node, topic, queue_id, queue_offset, units, names = stored
    record, dispatched = divmod(index, 2)
    phy_offset, size_bytes, _ = UNIT.unpack_from(units, record * UNIT.size)
    place = (node, topic, queue_id, queue_offset + record, phy_offset)
    if dispatched:
        return (DISPATCHED, *place)
    return (APPENDED, *place, size_bytes, *names_of(names[record]))
