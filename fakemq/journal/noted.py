"""Events of the kinds that each message has, or each pull, kept as the values of their fields.

They are written with each message and seldom read, so the event is made when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

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
"""The number of a kind, the node, and the values of the kind's own fields in their order."""

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
Names: TypeAlias = str | bytes
"""The unique id and the keys that a client gave a message, as bytes: the properties that have them.

A text is the id of a message without keys, "" for none.
"""


def kind_of(event: Event | Noted) -> type[Event]:
    """Return the kind of an event."""
    return KINDS[event[0]] if isinstance(event, tuple) else type(event)


def event_of(event: Event | Noted) -> Event:
    """Return the event itself."""
    if not isinstance(event, tuple):
        return event
    return _MAKERS[event[0]](*event[1:])


def _received(node: str, code: int, peer: str, opaque: int) -> Event:
    return RequestReceived(node=node, code=code, peer=peer, opaque=opaque)


def _checked(node: str, topic: str, queue_id: int) -> Event:
    return MessageChecked(node=node, topic=topic, queue_id=queue_id)


def _appended(
    node: str,
    topic: str,
    queue_id: int,
    queue_offset: int,
    phy_offset: int,
    size_bytes: int,
    msg_id: str,
    keys: str,
) -> Event:
    return LogAppended(
        node=node,
        topic=topic,
        queue_id=queue_id,
        queue_offset=queue_offset,
        phy_offset=phy_offset,
        size_bytes=size_bytes,
        msg_id=msg_id,
        keys=keys,
    )


def _dispatched(node: str, topic: str, queue_id: int, queue_offset: int, phy_offset: int) -> Event:
    return Dispatched(
        node=node,
        topic=topic,
        queue_id=queue_id,
        queue_offset=queue_offset,
        phy_offset=phy_offset,
    )


def _handled(node: str, code: int, peer: str, response_code: int | None) -> Event:
    return RequestHandled(node=node, code=code, peer=peer, response_code=response_code)


def _delivered(
    node: str,
    topic: str,
    queue_id: int,
    offsets: Sequence[int],
    next_offset: int,
    group: str,
    peer: str,
) -> Event:
    return Delivered(
        node=node,
        topic=topic,
        queue_id=queue_id,
        offsets=offsets,
        next_offset=next_offset,
        group=group,
        peer=peer,
    )


def _committed(node: str, group: str, topic: str, queue_id: int, offset: int) -> Event:
    return OffsetCommitted(node=node, group=group, topic=topic, queue_id=queue_id, offset=offset)


_MAKERS: tuple[Callable[..., Event], ...] = (
    _received,
    _checked,
    _appended,
    _dispatched,
    _handled,
    _delivered,
    _committed,
)
"""By the numbers of the kinds."""


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
