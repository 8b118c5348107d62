"""The waits for entries of the journal, so that an event wakes only those that it concerns.

A waiter names `Key`s, and is woken once by the first event that has one of them. It then looks at
the cluster, and arms itself again. Events of one turn of the loop wake it together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from fakemq.events.core import (
    Event,
    LinkClosed,
    LinkOpened,
    MessageChecked,
    RequestHandled,
    RequestReceived,
)
from fakemq.journal.entries import Entry, TimerFired
from fakemq.journal.journal import Journal
from fakemq.protocol.codes import RequestCode

Key: TypeAlias = "tuple[str, str] | type[Event]"
"""A value of a field, ``("topic", "orders")``; or a kind of events: `Event` means all."""

OTHERS: Key = ("", "")
"""Events that concern no single topic or group, such as a restart: they may change anything."""

_ALONE = frozenset({LinkClosed, LinkOpened, MessageChecked, RequestReceived, TimerFired})
"""Kinds that change nothing: what they lead to is an event of its own."""
_PLAIN_CODES = frozenset(
    {
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.PULL_MESSAGE,
        RequestCode.LITE_PULL_MESSAGE,
        RequestCode.HEART_BEAT,
        RequestCode.QUERY_CONSUMER_OFFSET,
        RequestCode.UPDATE_CONSUMER_OFFSET,
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    }
)
"""Requests whose effects are events of their own."""


class Waiter:
    """One that waits: ``wake`` is called on the cluster's thread, and must not look by itself.

    One that ``stays`` need not arm itself again.
    """

    __slots__ = ("keys", "stays", "wake")

    def __init__(
        self, wake: Callable[[], None], keys: Iterable[Key] = (Event,), *, stays: bool = False
    ) -> None:
        self.wake = wake
        self.keys = tuple(keys)
        self.stays = stays


class Wakes:
    """The waiters of one journal, by key."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.soon: Callable[[Callable[[], None]], object] = lambda act: act()
        """Calls its argument after the present turn of the loop; without a loop at once."""
        self._armed: dict[Key, dict[Waiter, None]] = {}
        self._woken: dict[Waiter, None] = {}
        self._waiters: dict[Waiter, None] = {}
        self._unlisten: Callable[[], None] | None = None
        """Ends the one listener of the journal; None while there is no waiter."""

    def __len__(self) -> int:
        return len(self._waiters)

    def arm(self, waiter: Waiter) -> None:
        """Wake ``waiter`` at the next event that concerns it; call this before it looks."""
        if self._unlisten is None:
            self._unlisten = self._journal.listen(self._note)
        self._waiters[waiter] = None
        for key in waiter.keys:
            self._armed.setdefault(key, {})[waiter] = None

    def leave(self, waiter: Waiter) -> None:
        """Forget a waiter."""
        self._waiters.pop(waiter, None)
        self._woken.pop(waiter, None)
        for key in waiter.keys:
            armed = self._armed.get(key)
            if armed is not None:
                armed.pop(waiter, None)
                if not armed:
                    del self._armed[key]
        if not self._waiters and self._unlisten is not None:
            self._unlisten()
            self._unlisten = None

    def _note(self, entry: Entry) -> None:
        armed = self._armed
        if not armed:
            return
        before = len(self._woken)
        for key in _keys_of(entry.event):
            found = armed.pop(key, None)
            if found is not None:
                self._woken |= found
        if self._woken and not before:
            self.soon(self._wake)

    def _wake(self) -> None:
        woken, self._woken = self._woken, {}
        for waiter in woken:
            if waiter in self._waiters:
                if waiter.stays:
                    self.arm(waiter)
                waiter.wake()


def _keys_of(event: Event) -> list[Key]:
    kind = type(event)
    keys: list[Key] = [Event, kind]
    fields = kind.__struct_fields__
    named = [name for name in ("topic", "group") if name in fields]
    if named:
        keys += [(name, getattr(event, name)) for name in named]
    elif not (kind in _ALONE or (isinstance(event, RequestHandled) and event.code in _PLAIN_CODES)):
        keys.append(OTHERS)
    return keys
