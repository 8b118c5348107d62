"""Finds out what was done to topics, groups and brokers, and explains what became of messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.biographies.commits import offsets_went_back
from fakemq.biographies.findings import Findings
from fakemq.biographies.order import order_lost, split_keys
from fakemq.biographies.same_id import stored_again
from fakemq.errors import printable
from fakemq.events.core import LogAppended, OffsetReset
from fakemq.journal.journal import clock_text

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.biographies.pops import Place
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


# Finds out that a topic was deleted: with its messages, and not always with its offsets.


def deleted_unconsumed(
    chronicle: Chronicle,
    wants: Callable[[str], bool],
    group: str | None,
    name: Callable[[Record], str],
) -> Steps[list[str]]:
    """Return the messages that were not consumed when their topic was deleted.

    Consumed is what a group, or ``group``, had committed past.
    """
    found = Findings()
    for record, entry in list(chronicle.appended.items()) if chronicle.deleted else ():
        yield
        event, deleted = entry.event, chronicle.deletion(record)
        assert isinstance(event, LogAppended)
        if deleted is None or not wants(event.topic):
            continue
        commits = chronicle.commits.get((record[0], event.topic, event.queue_id), {})
        groups = list(commits) if group is None else [group]
        place = record[0], event.topic, event.queue_id, event.queue_offset
        if not any(_had_committed(chronicle, place, one, deleted, entry.seq) for one in groups):
            at = clock_text(deleted.at_ms)
            why = f"gone: its topic was deleted at {at}, and no group had consumed it"
            if group is not None:
                why = f"gone: its topic was deleted at {at}, and {group} had not consumed it"
            found.add(event.topic, why, name(record))
    return found.lines()


def kept_offset(chronicle: Chronicle, place: Place, since_seq: int, group: str) -> str:
    """Return that a group goes past a message, because it has kept its offset of before its topic
    was deleted and made again, as a reason; "" if it has not.

    ``since_seq`` is the number of the entry that stored the message. Brokers of 4.9.7 keep the
    offsets of a deleted topic. Source: broker/processor/AdminBrokerProcessor.java#deleteTopic
    (4.9.7, 5.5.0)
    """
    deleted = chronicle.deleted.get(place[:2])
    if deleted is None or since_seq < deleted.seq:
        return ""
    if not _had_committed(chronicle, place, group, deleted):
        return ""
    risings = chronicle.commits[place[:3]][group]
    if any(one.why == "removed" and one.first.seq > deleted.seq for one in risings):
        return ""
    return (
        f"topic {place[1]} was deleted at {clock_text(deleted.at_ms)} and made again, and group"
        f" {group} kept its offset of before, which is past it"
    )


def _had_committed(
    chronicle: Chronicle, place: Place, group: str, deleted: Entry, since_seq: int = 0
) -> bool:
    """Return whether a group had committed past a place when its topic was deleted."""
    broker, topic, queue_id, offset = place
    risings = chronicle.commits.get((broker, topic, queue_id), {}).get(group, ())
    before = [one for one in risings if one.end_offset and one.first.seq < deleted.seq]
    past = before[-1].past(offset) if before else None
    return past is not None and since_seq < past.seq < deleted.seq
