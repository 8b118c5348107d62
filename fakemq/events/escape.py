"""Kinds of events of messages that a slave hands to another master while its own is away."""

from __future__ import annotations

from fakemq.events.core import Event


class Escaped(Event, frozen=True, kw_only=True, gc=False):
    """A slave sent to another master what it may not store itself, and got an answer or none."""

    topic: str
    broker_name: str
    """To which it was sent; empty if there was no other."""
    queue_id: int
    queue_offset: int
    """Its offset there; -1 without PUT_OK."""
    phy_offset: int
    """Where it is in the other broker's log; -1 without PUT_OK."""
    msg_id: str
    status: str
    """PUT_OK, or why the put failed: it may be there in spite of that."""
