"""Values as tests get them: lists, and messages with a reference to their biographies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fakemq.core import views
from fakemq.errors import ArgumentError, FakemqError

if TYPE_CHECKING:
    from fakemq.biographies.biography import Biography

T = TypeVar("T")
_SHOWN = 6
"""How many elements of a long list are shown: the first ones."""


class Listing(list[T]):
    """A list whose `repr` is short, if it is long: for a REPL and for failed assertions."""

    def __repr__(self) -> str:
        if len(self) <= _SHOWN + 1:
            return super().__repr__()
        shown = ",\n ".join(map(repr, self[:_SHOWN]))
        return f"[{shown},\n … and {len(self) - _SHOWN} more]"


class Origin(msgspec.Struct, frozen=True, eq=False):
    """The cluster, and its journal's epoch, in which a message was looked up."""

    epoch: int
    """The journal's epoch at that time; a reset of the cluster begins a new one."""
    biography: Callable[[Message], Biography]
    """Return the biography of a message of that cluster."""


class Message(views.Message, frozen=True, eq=False):
    """A stored message. Times are milliseconds since the epoch; ``offset`` is the queue's.

    ``body`` is as the producer sent it; a compressed body is decompressed.
    """

    origin: Origin | None = None
    """The cluster that returned it. It is not part of the value: messages that differ only in it
    are equal, and a pickled message has none."""

    @property
    def biography(self) -> Biography:
        """The history of the message until now, as far as the journal knows; see docs/journal.md.

        It is the same as ``mq.biography(message)`` of the cluster that returned the message. Raise
        FakemqError for a message that was copied, or not returned by a cluster of this process.
        """
        if self.origin is None:
            raise FakemqError(
                f"no biography of {self!r}: it is a copy, or of a cluster outside this process"
            )
        return self.origin.biography(self)

    @property
    def stored_at_ms(self) -> int:
        """The old name of ``store_timestamp_ms``, for one release."""
        return self.store_timestamp_ms

    @property
    def born_at_ms(self) -> int:
        """The old name of ``born_timestamp_ms``, for one release."""
        return self.born_timestamp_ms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self._value() == other._value()

    # An origin refers to a running cluster, which no other process has: a copy has none.
    def __reduce__(self) -> tuple[type[Message], tuple[object, ...]]:
        return Message, self._value()

    def _value(self) -> tuple[object, ...]:
        return msgspec.structs.astuple(self)[:-1]  # `origin` is the last field


class Delayed(views.Delayed, frozen=True):
    """A message that waits for its delay level or its time; it will go to ``topic`` and
    ``queue_id``.

    ``message`` is how it is stored meanwhile, in the schedule topic or the timer topic.
    """

    message: Message


def message_of(message: views.Message, origin: Origin | None = None) -> Message:
    """Return a message of the core as tests get it."""
    return Message(**msgspec.structs.asdict(message), origin=origin)


def require_message(value: object) -> None:
    """Raise ArgumentError for what is no message that a cluster returned."""
    if not isinstance(value, Message):
        what = "expected a message, such as messages('orders')[0], or its unique id"
        raise ArgumentError(f"biography({value!r}): {what}")
