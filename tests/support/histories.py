"""Histories made by hand, for checkers to judge."""

from __future__ import annotations

from msgspec.structs import replace

from fakemq.events import Event
from fakemq.events.pop import Acknowledged, InvisibleTimeChanged, Popped, Revived
from fakemq.journal.entries import Entry
from fakemq.sim.events import Consumed, Sent
from fakemq.sim.history import History


def history(*events: Event | tuple[int, Event]) -> History:
    """Return a history with one entry for each event, at its milliseconds if given."""
    entries = []
    for seq, one in enumerate(events, 1):
        at_ms, event = one if isinstance(one, tuple) else (0, one)
        entries.append(Entry(seq, at_ms, event))
    return History(entries=entries)


def sent(key: str = "m-1", offset: int = 0, **fields: str | int) -> Sent:
    """Return the event of a message sent to queue 0 of ``orders`` at broker-a, with SEND_OK."""
    event = Sent(
        node="producer",
        topic="orders",
        key=key,
        msg_id=f"ID-{key}",
        broker="broker-a",
        queue_id=0,
        queue_offset=offset,
        phy_offset=100 * offset,
        status="SEND_OK",
    )
    return replace(event, **fields)


def consumed(key: str = "m-1", offset: int = 0, **fields: str | int | bool) -> Consumed:
    """Return the event of a message that a member of ``workers`` consumed."""
    event = Consumed(
        node="workers-1",
        group="workers",
        topic="orders",
        key=key,
        msg_id=f"ID-{key}",
        broker="broker-a",
        queue_id=0,
        queue_offset=offset,
        times=0,
        well=True,
    )
    return replace(event, **fields)


NODE, TOPIC, GROUP = "broker-a-0", "orders", "workers"
INVISIBLE_MS = 10_000
OF_QUEUE = {"node": NODE, "group": GROUP, "topic": TOPIC, "queue_id": 0}


def popped(at_ms: int, offset: int = 0, count: int = 1, **fields: str | int | bool) -> Popped:
    """Return the event of a pop at ``at_ms``, of queue 0 of ``orders`` for ``workers``."""
    event = Popped(
        **OF_QUEUE,  # type: ignore[arg-type]
        start_offset=offset,
        count=count,
        pop_time_ms=at_ms,
        invisible_until_ms=at_ms + INVISIBLE_MS,
        in_order=False,
        peer="client",
    )
    return replace(event, **fields)


def acknowledged(pop_time_ms: int, offset: int = 0, **fields: str | int) -> Acknowledged:
    """Return the event of an acknowledgement of a message of a pop."""
    event = Acknowledged(
        **OF_QUEUE,  # type: ignore[arg-type]
        queue_offset=offset,
        pop_time_ms=pop_time_ms,
        peer="client",
        has_effect=True,
    )
    return replace(event, **fields)


def changed(
    pop_time_ms: int, next_pop_time_ms: int, until_ms: int, offset: int = 0
) -> InvisibleTimeChanged:
    """Return the event of a change of the invisible time."""
    return InvisibleTimeChanged(
        **OF_QUEUE,  # type: ignore[arg-type]
        queue_offset=offset,
        pop_time_ms=pop_time_ms,
        next_pop_time_ms=next_pop_time_ms,
        invisible_until_ms=until_ms,
        peer="client",
        has_effect=True,
    )


def revived(pop_time_ms: int, offset: int = 0) -> Revived:
    """Return the event of a message that was not acknowledged in time."""
    return Revived(
        **OF_QUEUE,  # type: ignore[arg-type]
        queue_offset=offset,
        pop_time_ms=pop_time_ms,
        retry_topic="%RETRY%workers_orders",
        retry_offset=0,
        reconsume_times=1,
        from_phy_offset=100 * offset,
        phy_offset=5_000,
        msg_id=f"ID-{offset}",
    )
