"""Kinds of events of faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from fakemq.events.core import Delivered, Event


class FaultPlaced(Event, frozen=True, kw_only=True, gc=False):
    """A fault was placed."""

    fault: int
    """The number of the fault in its cluster, from 1."""
    what: str
    """The fault as a short text."""


class FaultHit(Event, frozen=True, kw_only=True, gc=False):
    """A fault had an effect at this node; ``on`` is what it affected."""

    fault: int
    what: str
    on: str


class FaultRemoved(Event, frozen=True, kw_only=True, gc=False):
    """A test ended a fault; for example, it healed a partition."""

    fault: int
    what: str


class FlowControlled(Event, frozen=True, kw_only=True, gc=False):
    """A broker refused a request with SYSTEM_BUSY, because its threads or its store are busy."""

    code: int
    peer: str
    pool: str
    """The pool of threads that handles the request, such as ``send``."""
    remark: str
    """Java's text in the answer, such as ``[OVERLOAD]system busy, …``."""


class AnswerWithheld(Event, frozen=True, kw_only=True, gc=False):
    """A fault held back the answer to a pull, with messages.

    If the answer is sent later, a `Delivered` follows.
    """

    topic: str
    queue_id: int
    offsets: Sequence[int]
    """The messages' offsets in the queue, as in `Delivered`."""
    group: str
    peer: str

    @classmethod
    def of(cls, delivered: Delivered) -> Self:
        """Return the event for an answer that would have been ``delivered``."""
        return cls(
            node=delivered.node,
            topic=delivered.topic,
            queue_id=delivered.queue_id,
            offsets=delivered.offsets,
            group=delivered.group,
            peer=delivered.peer,
        )
