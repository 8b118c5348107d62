"""Finds out that a topic was deleted: with its messages, and not always with its offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.biographies.findings import Findings
from fakemq.events.core import LogAppended
from fakemq.journal.journal import clock_text

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.biographies.pops import Place
    from fakemq.clock.slices import Steps
    from fakemq.journal.entries import Entry


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
