"""What the journal says of faults."""

from __future__ import annotations

from fakemq.events import Event


class FaultPlaced(Event, frozen=True, kw_only=True, gc=False):
    """A fault was placed, the ``fault``-th of the cluster; ``what`` is it in words."""

    fault: int
    what: str


class FaultHit(Event, frozen=True, kw_only=True, gc=False):
    """A fault had an effect at this node; ``on`` is what it befell."""

    fault: int
    what: str
    on: str


class FaultRemoved(Event, frozen=True, kw_only=True, gc=False):
    """A fault was ended by hand, such as a partition that heals."""

    fault: int
    what: str
