"""A message that is out: popped, and neither acknowledged nor revived."""

from __future__ import annotations

from typing import NamedTuple


class OutMessage(NamedTuple):
    """One message that is out, as its broker knows it."""

    group: str
    topic: str
    queue_id: int
    offset: int
    visible_at_ms: int
    in_order: int | None = None
    """How often a message that is consumed in order was out before; None for any other."""
