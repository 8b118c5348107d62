"""Kinds of events of a store in a directory."""

from __future__ import annotations

from fakemq.events.core import Event


class StoreRecovered(Event, frozen=True, kw_only=True, gc=False):
    """A store directory was opened, and its queues were completed from its log."""

    clean: bool
    """Whether the last broker in the directory was stopped, not killed."""
    min_phy_offset: int
    """Where the log begins, in bytes."""
    max_phy_offset: int
    """Where the log ends, in bytes."""
    dispatched: int
    """How many records of the log were dispatched to the queues again."""


class UnsyncedLost(Event, frozen=True, kw_only=True, gc=False):
    """A kill with loss of unsynced data: the disk lost pages of 4 KiB that no flush had written."""

    pages: int
    """How many pages were not flushed."""
    lost_pages: int
    """How many of them were lost; the others happened to be written."""
    log_offset: int
    """Everything in the commit log before this offset was flushed."""
    log_bytes: int
    """How many bytes after it were not."""


class AlsoQueued(Event, frozen=True, kw_only=True, gc=False):
    """A record was added to queues that it names, beside its own, such as that of a lite topic."""

    phy_offset: int
    places: tuple[tuple[str, int, int], ...]
    """Topic, queue id and queue offset of each."""
