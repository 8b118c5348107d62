"""What the journal says of acknowledgements, and of invisible times that a consumer changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.events.pop import InvisibleTimeChanged
from fakemq.journal.journal import shortened
from fakemq.journal.noted import ACKNOWLEDGED

if TYPE_CHECKING:
    from fakemq.broker.v5.broker import Broker5


def note_acknowledged(
    broker: Broker5,
    group: str,
    topic: str,
    offset: int,
    pop_time_ms: int,
    peer: str,
    *,
    queue_id: int = 0,
    has_effect: bool,
) -> None:
    """Write that a message was acknowledged, and whether that had an effect."""
    broker.journal.note(
        (
            ACKNOWLEDGED,
            broker.name,
            shortened(group),
            shortened(topic),
            queue_id,
            offset,
            pop_time_ms,
            peer,
            has_effect,
        )
    )


def note_changed(
    broker: Broker5,
    group: str,
    topic: str,
    offset: int,
    pop_time_ms: int,
    next_pop_time_ms: int,
    visible_at_ms: int,
    peer: str,
    *,
    queue_id: int = 0,
    has_effect: bool,
) -> None:
    """Write that a message is to become visible at a time, and whether that had an effect."""
    broker.journal.add(
        InvisibleTimeChanged(
            node=broker.name,
            group=shortened(group),
            topic=shortened(topic),
            queue_id=queue_id,
            queue_offset=offset,
            pop_time_ms=pop_time_ms,
            next_pop_time_ms=next_pop_time_ms,
            invisible_until_ms=visible_at_ms,
            peer=peer,
            has_effect=has_effect,
        )
    )
