"""Histories made by hand, for checkers to judge."""

from __future__ import annotations

from msgspec.structs import replace

from fakemq.events import Event
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
