"""Events of the kinds that each message has, or each pull, kept as the values of their fields.

They are written with each message and seldom read, so the event is made when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

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
) -> Event:
    return LogAppended(
        node=node,
        topic=topic,
        queue_id=queue_id,
        queue_offset=queue_offset,
        phy_offset=phy_offset,
        size_bytes=size_bytes,
        msg_id=msg_id,
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
