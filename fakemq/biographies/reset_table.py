"""What the journal says about resets of offsets; a part of the chronicle."""

from __future__ import annotations

from collections import defaultdict

from fakemq.errors import counted
from fakemq.events.core import OffsetReset
from fakemq.journal.entries import Entry


class ResetRequest:
    """What one request did to a group in a topic, in all queues."""

    def __init__(self, first: Entry) -> None:
        self.first = first
        self.again = 0
        self.skipped = 0
        self.is_last = False
        """Whether it reset a queue to its last message, which is older than the asked time."""

    def add(self, event: OffsetReset, *, is_last: bool) -> None:
        before = max(event.before, 0)
        self.again += max(before - event.offset, 0)
        self.skipped += max(event.offset - before, 0)
        self.is_last = self.is_last or is_last

    def effect(self) -> str:
        """Return what the reset does, a clause; "" for nothing."""
        parts = []
        if self.skipped:
            parts.append(f"{counted(self.skipped, 'message')} skipped")
        if self.again:
            parts.append(f"{counted(self.again, 'message')} to be consumed again")
        if self.is_last:
            parts.append(
                "for a time after the last message a broker of 4.9.7 takes the last message, not"
                " the end, so that one message is left"
            )
        return "; ".join(parts)


class Resets:
    """The resets of groups: one request may reset all queues of a topic, 10,000 and more."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str], dict[int, ResetRequest]] = defaultdict(dict)
        """Group and topic → the request's number → what it did."""
        self._first: dict[tuple[str, str, int, int], int] = {}
        """Group, topic, queue id and offset → the number of the first reset to it."""

    def add(self, entry: Entry, stored: Entry | None) -> None:
        """Add the reset of one queue; ``stored`` stored the message to which it was reset."""
        event = entry.event
        assert isinstance(event, OffsetReset)
        requests = self.requests[event.group, event.topic]
        request = requests.setdefault(entry.cause, ResetRequest(entry))
        request.add(event, is_last=_is_last(event, stored))
        self._first.setdefault((event.group, event.topic, event.queue_id, event.offset), entry.seq)

    def is_from(self, commit: Entry, group: str, topic: str, queue_id: int) -> bool:
        """Return whether a committed offset is one to which an operator had reset the queue."""
        offset = getattr(commit.event, "offset", -1)
        seq = self._first.get((group, topic, queue_id, offset))
        return seq is not None and seq < commit.seq


def _is_last(event: OffsetReset, stored: Entry | None) -> bool:
    """Return whether a queue was reset to its last message, which is older than the asked time.

    Source: store/ConsumeQueue.java#getOffsetInQueueByTime (4.9.7)
    """
    if event.how != "members" or event.offset != event.end_offset - 1:
        return False
    return stored is not None and event.to_ms is not None and stored.at_ms < event.to_ms
