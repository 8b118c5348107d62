"""What the journal says of faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from fakemq.events.core import Delivered, Event


class FaultPlaced(Event, frozen=True, kw_only=True, gc=False):
    """A fault was placed, the ``fault``-th of the cluster; ``what`` is it in words."""

    fault: int
    what: str


class FaultHit(Event, frozen=True, kw_only=True, gc=False):
    """A fault had an effect at this node; ``on`` is what it affected."""

    fault: int
    what: str
    on: str


class FaultRemoved(Event, frozen=True, kw_only=True, gc=False):
    """A fault was ended by hand, such as a partition that heals."""

    fault: int
    what: str


class AnswerWithheld(Event, frozen=True, kw_only=True, gc=False):
    """A fault kept a pull answer with messages back; if it leaves later, a `Delivered` says so."""

    topic: str
    queue_id: int
    offsets: Sequence[int]
    """Those of the messages in the queue."""
    group: str
    peer: str

    @classmethod
    def of(cls, delivered: Delivered) -> Self:
        """For an answer that would have been ``delivered``."""
        return cls(
            node=delivered.node,
            topic=delivered.topic,
            queue_id=delivered.queue_id,
            offsets=delivered.offsets,
            group=delivered.group,
            peer=delivered.peer,
        )
