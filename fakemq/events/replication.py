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


class LogTruncated(Event, frozen=True, kw_only=True, gc=False):
    """A broker under a controller cut its log off: it had all up to ``end_offset``.

    What it loses is no record that its master has, or half a record at the end.
    """

    phy_offset: int
    """Where the log ends now."""
    end_offset: int
    peer: str = ""
    """The master whose epochs say so; "" for half a record."""


class InSyncSetProposed(Event, frozen=True, kw_only=True, gc=False):
    """A master asks its controller for another in-sync set; until then both sets count."""

    members: tuple[int, ...]
    """Ids of brokers, ascending."""


class InSyncSetTaken(Event, frozen=True, kw_only=True, gc=False):
    """A master took its in-sync set from its controller."""

    members: tuple[int, ...]
    set_epoch: int


class EpochBegun(Event, frozen=True, kw_only=True, gc=False):
    """A broker became a master, or remained one, in a new epoch, with its log's end as it was."""

    epoch: int
    phy_offset: int
