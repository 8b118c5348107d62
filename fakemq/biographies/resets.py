"""Finds out that an operator reset the offsets of a group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.errors import counted, printable
from fakemq.events.core import LogAppended, OffsetReset
from fakemq.journal.journal import clock_text

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.journal.entries import Entry

_MAX_MS = 253_402_300_799_000
"""The end of the year 9999: later times are shown as numbers."""


def was_reset(chronicle: Chronicle, commit: Entry, group: str, topic: str, queue_id: int) -> bool:
    """Return whether a committed offset is the one to which an operator had reset the queue."""
    offset = getattr(commit.event, "offset", None)
    return any(
        isinstance(one.event, OffsetReset)
        and (one.event.queue_id, one.event.offset) == (queue_id, offset)
        and one.seq < commit.seq
        for one in chronicle.resets.get((group, topic), ())
    )


def offsets_reset(
    chronicle: Chronicle, wants: Callable[[str], bool], group: str | None
) -> list[str]:
    """Return one line for each reset that made a group skip messages, or consume some again."""
    lines = []
    for (one, topic), entries in chronicle.resets.items():
        if not wants(topic) or group not in (None, one):
            continue
        requests: dict[int, list[Entry]] = defaultdict(list)
        for entry in entries:
            requests[entry.cause].append(entry)
        for cause, queues in requests.items():
            effect = _effect(chronicle, queues)
            if effect:
                peer = getattr(getattr(chronicle.requests.get(cause), "event", None), "peer", "")
                by = f" by {peer}" if peer else ""
                at = clock_text(queues[0].at_ms)
                to = _to(queues[0])
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


def _effect(chronicle: Chronicle, queues: list[Entry]) -> str:
    """Return what the reset of some queues does, a clause; "" for nothing."""
    again = skipped = 0
    last = False
    for entry in queues:
        event = entry.event
        assert isinstance(event, OffsetReset)
        before = max(event.before, 0)
        again += max(before - event.offset, 0)
        skipped += max(event.offset - before, 0)
        last = last or _is_last(chronicle, entry.event.node, event)
    parts = []
    if skipped:
        parts.append(f"{counted(skipped, 'message')} skipped")
    if again:
        parts.append(f"{counted(again, 'message')} to be consumed again")
    if last:
        parts.append(
            "for a time after the last message a broker of 4.9.7 takes the last message, not the"
            " end, so that one message is left"
        )
    return "; ".join(parts)


def _is_last(chronicle: Chronicle, node: str, event: OffsetReset) -> bool:
    """Return whether a queue was reset to its last message, which is older than the asked time.

    Source: store/ConsumeQueue.java#getOffsetInQueueByTime (4.9.7)
    """
    if event.how != "members" or event.offset != event.end_offset - 1:
        return False
    broker = chronicle.broker_names.get(node, node)
    record = chronicle.record_at(broker, event.topic, event.queue_id, event.offset)
    stored = None if record is None else chronicle.appended.get(record)
    return (
        stored is not None
        and isinstance(stored.event, LogAppended)
        and event.to_ms is not None
        and stored.at_ms < event.to_ms
    )
