"""What the journal says of replication; all else it can say is in `fakemq.events`."""

from __future__ import annotations

from fakemq.events.core import Event


class SlaveReported(Event, frozen=True, kw_only=True, gc=False):
    """A slave reported to a master that it has everything before ``offset``."""

    peer: str
    offset: int
    first: bool


class ReportBelieved(Event, frozen=True, kw_only=True, gc=False):
    """The fault `Faults.believe_reports`: a slave reported first to have what its master has not.

    The master's log ends at ``end_offset``; senders are answered as if a slave had all up to
    ``offset``.
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
    """A slave's log has grown by these bytes of its master's."""

    phy_offset: int
    end_offset: int


class ReplicationWaited(Event, frozen=True, kw_only=True, gc=False):
    """A request stopped waiting for a slave to have everything before ``offset``."""

    offset: int
    transferred: bool


class MetadataSynchronized(Event, frozen=True, kw_only=True, gc=False):
    """A slave has its master's ``topics`` or ``groups``, which were others before."""

    what: str
