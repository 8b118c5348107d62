"""Messages as tests get them: the core's values, and the way to their biographies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from fakemq.core import views
from fakemq.errors import FakemqError

if TYPE_CHECKING:
    from fakemq.biographies.biography import Biography


class Origin(msgspec.Struct, frozen=True, eq=False):
    """Where a message was looked up."""

    epoch: int
    """The journal's epoch at that time; a reset of the cluster begins another one."""
    biography: Callable[[Message], Biography]


class Message(views.Message, frozen=True, eq=False):
    """A stored message. Times are milliseconds since the epoch, ``offset`` is the queue's.

    ``body`` is as its producer sent it: if that compressed it, it is decompressed.
    """

    origin: Origin | None = None
    """The cluster that returned it. Not part of its value: messages that differ in nothing else
    are equal, and a pickled message has none."""

    @property
    def biography(self) -> Biography:
        """What became of it by now, as far as the journal knows; see docs/journal.md.

        A shortcut for ``mq.biography(message)`` of the cluster that returned the message. Raises
        FakemqError for a message that no running cluster of ours returned.
        """
        if self.origin is None:
            raise FakemqError(
                f"no biography of {self!r}: it is a copy, or of a cluster outside this process"
            )
        return self.origin.biography(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self._value() == other._value()

    def __reduce__(self) -> tuple[type[Message], tuple[object, ...]]:
        return Message, self._value()

    def _value(self) -> tuple[object, ...]:
        return msgspec.structs.astuple(self)[:-1]


class Delayed(views.Delayed, frozen=True):
    """A message that waits for its delay level; ``topic`` and ``queue_id`` are where it will go.

    ``message`` is how it is stored meanwhile, in the schedule topic.
    """

    message: Message


def message_of(message: views.Message, origin: Origin | None = None) -> Message:
    """A message of the core, as a test gets it."""
    return Message(**msgspec.structs.asdict(message), origin=origin)
