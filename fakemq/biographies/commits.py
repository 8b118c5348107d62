"""The steps of committed offsets: past a message that its group has received or not, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fakemq.biographies import steps
from fakemq.events.core import OffsetCommitted

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.biographies.later_steps import Why
    from fakemq.biographies.pops import Place
    from fakemq.biographies.steps import Step
    from fakemq.journal.entries import Entry

OfCommit = TypeVar("OfCommit", steps.Acknowledged, steps.PassedOver, steps.SetBack)


def commit_steps(
    chronicle: Chronicle, place: Place, appended: Entry | None, why: Why
) -> Iterator[Step]:
    """Yield a step for each commit past the record at a place, and a `SetBack` for each one back.

    Past a record that the group has received it is an `Acknowledged`, else a `PassedOver`. For a
    group that popped the record no commit is an acknowledgement: the pop commits.
    """
    broker, topic, queue_id, offset = place
    # A commit before the append was of another message at the same offset, lost in a crash.
    since_seq = 0 if appended is None else appended.seq
    deliveries = chronicle.delivered.get(place, ())
    popped = chronicle.pops.groups(deliveries)
    commits = chronicle.commits.get((broker, topic, queue_id), {})
    for risings in (commits[group] for group in commits if group not in popped):
        acked = False
        for rising in risings:
            first = rising.first
            if acked and rising.first_offset <= offset and first.seq > since_seq:
                yield _step(chronicle, steps.SetBack, first, why)
                acked = False
            entry = rising.past(offset)
            if not acked and entry is not None and entry.seq > since_seq:
                yield _past(chronicle, place, entry, since_seq, why)
                acked = True


def _past(chronicle: Chronicle, place: Place, entry: Entry, since_seq: int, why: Why) -> Step:
    """Return the step of a commit past a record, which is known from ``since_seq`` on."""
    event = entry.event
    assert isinstance(event, OffsetCommitted)
    # Of what the journal has forgotten it is not known whether it was delivered.
    known = since_seq or chronicle.delivered.get(place)
    if not known or chronicle.received(place, event.group, entry.seq):
        return _step(chronicle, steps.Acknowledged, entry, why)
    passed = chronicle.filter_that_passed(place, event.group, since_seq)
    return msgspec.structs.replace(
        _step(chronicle, steps.PassedOver, entry, why),
        expression=None if passed is None else passed.expression,
        dropped=any(
            getattr(one.event, "group", "") == event.group
            for one in chronicle.collided.get(place, ())
        ),
    )


def _step(chronicle: Chronicle, kind: type[OfCommit], entry: Entry, why: Why) -> OfCommit:
    event = entry.event
    assert isinstance(event, OffsetCommitted)
    request = chronicle.requests.get(entry.cause)
    peer = getattr(request.event, "peer", "") if request is not None else ""
    return kind(
        seq=entry.seq,
        at_ms=entry.at_ms,
        node=event.node,
        because=why(entry),
        group=event.group,
        client_id=chronicle.client(event.node, peer),
        offset=event.offset,
    )
