"""Events of the kinds that each message has, kept as the values of their fields.

They are written with each message and seldom read, so the event is made when it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from fakemq.events.core import (
    Dispatched,
    Event,
    LogAppended,
    MessageChecked,
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
)
RECEIVED, CHECKED, APPENDED, DISPATCHED, HANDLED = range(5)
"""The numbers of the kinds: in a tuple of plain values only, the garbage collector looks once."""


def kind_of(event: Event | Noted) -> type[Event]:
    """Return the kind of an event."""
    return KINDS[event[0]] if isinstance(event, tuple) else type(event)


def event_of(event: Event | Noted) -> Event:
    """Return the event itself."""
    if not isinstance(event, tuple):
        return event
    kind = KINDS[event[0]]
    make = cast("Callable[..., Event]", kind)
    return make(**dict(zip(kind.__struct_fields__, event[1:], strict=True)))
