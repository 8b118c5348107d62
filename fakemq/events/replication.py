"""Kinds of events of replication. All offsets are places in the master's commit log, in bytes."""

from __future__ import annotations

from fakemq.events.core import Event


class SlaveReported(Event, frozen=True, kw_only=True, gc=False):
    """A slave reported to a master that it has everything before ``offset``."""

    peer: str
    offset: int
    first: bool
    """Whether it is the first report on its connection."""


class ReportBelieved(Event, frozen=True, kw_only=True, gc=False):
    """A master believed a slave's first report, which is beyond the end of the master's log.

    Only the fault `Faults.believe_reports` makes a master do so. The master's log ends at
    ``end_offset``; senders are answered as if a slave had everything before ``offset``.
    """

    peer: str
    offset: int
    end_offset: int


class Transferred(Event, frozen=True, kw_only=True, gc=False):
    """A master sent a slave the bytes of its log from ``phy_offset`` up to ``end_offset``."""

    peer: str
    phy_offset: int
    end_offset: int


class Replicated(Event, frozen=True, kw_only=True, gc=False):
    """A slave appended its master's bytes from ``phy_offset`` up to ``end_offset`` to its log."""

    phy_offset: int
    end_offset: int


class ReplicationWaited(Event, frozen=True, kw_only=True, gc=False):
    """The wait of a send ended: a slave has everything before ``offset``, or the time is over."""

    offset: int
    transferred: bool
    """Whether a slave has it; False after a time-out."""


class MetadataSynchronized(Event, frozen=True, kw_only=True, gc=False):
    """A slave replaced a table of its own by a different one of its master."""

    what: str
    """``topics`` or ``groups``."""
