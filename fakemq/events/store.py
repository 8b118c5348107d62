"""What the journal says of a store in a directory."""

from __future__ import annotations

from fakemq.events.core import Event


class StoreRecovered(Event, frozen=True, kw_only=True, gc=False):
    """A store directory was opened: the log is [min, max), and what its queues lacked was put in.

    ``clean`` says that its last user stopped properly.
    """

    clean: bool
    min_phy_offset: int
    max_phy_offset: int
    dispatched: int
    """How many records the queues were given again."""


class UnsyncedLost(Event, frozen=True, kw_only=True, gc=False):
    """A kill took what no flush had made safe: ``lost_pages`` of ``pages`` pages of 4 KiB.

    Of the commit log everything before ``log_offset`` was safe; ``log_bytes`` after it were not.
    """

    pages: int
    lost_pages: int
    log_offset: int
    log_bytes: int
