"""Kinds of events of timer messages, which brokers of 5.5.0 have."""

from __future__ import annotations

from fakemq.events.core import Event


class TimerSet(Event, frozen=True, kw_only=True, gc=False):
    """A message for ``topic`` waits in the timer topic."""

    timer_offset: int
    """Its offset in the timer topic."""
    phy_offset: int
    due_at_ms: int
    """When it will be delivered, by the node's own wall clock, in ms since the epoch."""
    rolls_at_ms: int | None
    """When it goes back to the timer topic before that; None if it waits in one piece."""
    topic: str
    msg_id: str


class TimerDelivered(Event, frozen=True, kw_only=True, gc=False):
    """A timer message was due and was stored in its real topic and queue."""

    from_phy_offset: int
    phy_offset: int
    topic: str
    queue_id: int
    queue_offset: int
    msg_id: str


class TimerRolled(Event, frozen=True, kw_only=True, gc=False):
    """A timer message whose time is further away than the wheel was stored there again."""

    from_phy_offset: int
    phy_offset: int
    topic: str
    """Its real topic."""
    timer_offset: int
    times: int
    """How often it has rolled by now."""
    msg_id: str


class TimerRecalled(Event, frozen=True, kw_only=True, gc=False):
    """A timer message was due and was not delivered, because it had been recalled."""

    phy_offset: int
    topic: str
    msg_id: str


class TimerDiscarded(Event, frozen=True, kw_only=True, gc=False):
    """A timer message was due and was dropped."""

    phy_offset: int
    topic: str
    """Its real topic; empty if it has none."""
    why: str
    """A clause."""
    msg_id: str
