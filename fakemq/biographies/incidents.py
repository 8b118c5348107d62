"""Finds out what was done to topics, groups and brokers, and explains what became of messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.biographies.commits import offsets_went_back
from fakemq.biographies.deleted_topics import deleted_unconsumed
from fakemq.biographies.order import order_lost, split_keys
from fakemq.biographies.same_id import stored_again
from fakemq.errors import printable
from fakemq.events.core import OffsetReset
from fakemq.journal.journal import clock_text

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore
    from fakemq.journal.entries import Entry


def incidents(
    core: ClusterCore,
    chronicle: Chronicle,
    wants: Callable[[str], bool],
    group: str | None,
    name: Callable[[Record], str],
) -> Steps[list[str]]:
    """Return deleted topics, lost commits, resets, messages that are there twice, and lost order.

    ``name`` names a stored message; ``group`` limits them to one group.
    """
    deleted = yield from deleted_unconsumed(chronicle, wants, group, name)
    back = yield from offsets_went_back(chronicle, wants, group)
    reset = yield from offsets_reset(chronicle, wants, group)
    again = yield from stored_again(chronicle, wants, name)
    free = yield from order_lost(chronicle, wants, group, name)
    # Only clients of the gRPC front say a message group.
    split = [] if core.proxy is None else (yield from split_keys(core, chronicle, wants))
    return [*deleted, *back, *reset, *again, *free, *split]


# Finds out that an operator reset the offsets of a group.

_MAX_MS = 253_402_300_799_000
"""The end of the year 9999: later times are shown as numbers."""


def offsets_reset(
    chronicle: Chronicle, wants: Callable[[str], bool], group: str | None
) -> Steps[list[str]]:
    """Return one line for each reset that made a group skip messages, or consume some again."""
    lines = []
    for (one, topic), requests in list(chronicle.resets.requests.items()):
        yield
        if not wants(topic) or group not in (None, one):
            continue
        for cause, request in list(requests.items()):
            yield
            effect = request.effect()
            if effect:
                peer = getattr(getattr(chronicle.requests.get(cause), "event", None), "peer", "")
                by = f" by {peer}" if peer else ""
                at = clock_text(request.first.at_ms)
                to = _to(request.first)
                lines.append(f"group {one} was reset in {topic} to {to} at {at}{by}: {effect}")
    return [*map(printable, lines)]


def _to(entry: Entry) -> str:
    event = entry.event
    assert isinstance(event, OffsetReset)
    if event.to_ms is None:
        return f"offset {event.offset} of queue {event.queue_id}"
    if event.to_ms < 0:
        return "the end"
    return clock_text(event.to_ms) if event.to_ms <= _MAX_MS else str(event.to_ms)
