"""The steps of committed offsets: past a message that its group has received or not, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, TypeVar

import msgspec

from fakemq.biographies import steps
from fakemq.biographies.because import step_of
from fakemq.errors import counted, printable
from fakemq.events.core import CommitIgnored, OffsetCommitted
from fakemq.journal.journal import clock_text

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Back, Chronicle, Rising
    from fakemq.biographies.pops import Place
    from fakemq.biographies.steps import Step
    from fakemq.clock.slices import Steps
    from fakemq.journal.entries import Entry

Why: TypeAlias = "Callable[[Entry], str]"
"""Returns the reason of an entry as text."""
OfCommit = TypeVar(
    "OfCommit", steps.Acknowledged, steps.CommitIgnored, steps.PassedOver, steps.SetBack
)


def commit_steps(
    chronicle: Chronicle, place: Place, appended: Entry | None, why: Why
) -> Iterator[Step]:
    """Yield a step for each commit past the record at a place, and a `SetBack` for each one back.

    Past a record that the group has received it is an `Acknowledged`, else a `PassedOver`. For a
    group that popped the record no commit is an acknowledgement: the pop commits. But an offset
    that goes back makes it come again, acknowledged or not.
    """
    broker, topic, queue_id, offset = place
    # A commit before the append was of another message at the same offset, lost in a crash.
    since_seq = 0 if appended is None else appended.seq
    deliveries = chronicle.delivered.get(place, ())
    popped = chronicle.pops.groups(deliveries)
    commits = chronicle.commits.get((broker, topic, queue_id), {})
    for group in (one for one in commits if one in popped):
        last_seq = since_seq
        for rising in _backs(chronicle, place, group):
            seq = rising.first.seq
            if seq > since_seq and chronicle.pops.is_done(place, group, last_seq, seq):
                yield _back(chronicle, group, rising, why)
            last_seq = max(seq, since_seq)
    for group in commits:
        acked = False
        for rising in () if group in popped else commits[group]:
            first = rising.first
            if acked and rising.first_offset <= offset and first.seq > since_seq:
                yield _back(chronicle, group, rising, why)
                acked = False
            entry = rising.past(offset)
            if not acked and _is_commit(entry) and entry.seq > since_seq:
                yield _past(chronicle, place, entry, since_seq, why)
                acked = True
    for risings in chronicle.ignored.get((broker, topic, queue_id), {}).values():
        for rising in risings:
            entry = rising.past(offset)
            if entry is not None and entry.seq > since_seq:
                yield _step(chronicle, steps.CommitIgnored, entry, why)


def has_acked(chronicle: Chronicle, place: Place, group: str) -> bool:
    """Return whether a group acknowledged a message that it popped, or committed past another.

    Either counts only since the last time that the group's offset went back.
    """
    broker, topic, queue_id, offset = place
    if group not in chronicle.pops.groups(chronicle.delivered.get(place, ())):
        risings = chronicle.commits.get((broker, topic, queue_id), {}).get(group, [])
        return bool(risings) and risings[-1].past(offset) is not None
    since_seq = last_back_seq(chronicle, place, group)
    return chronicle.pops.is_acknowledged(place, group, since_seq)


def last_back_seq(chronicle: Chronicle, place: Place, group: str) -> int:
    """Return the number of the last entry with which a group's offset went back to a message, or
    before it; 0 for none."""
    return max((rising.first.seq for rising in _backs(chronicle, place, group)), default=0)


def _backs(chronicle: Chronicle, place: Place, group: str) -> Iterator[Rising]:
    """Yield what begins at a message, or before it, after an offset that was past it."""
    broker, topic, queue_id, offset = place
    was_past = False
    for rising in chronicle.commits.get((broker, topic, queue_id), {}).get(group, ()):
        if was_past and rising.first_offset <= offset:
            yield rising
        was_past = rising.past(offset) is not None


def _is_commit(entry: Entry | None) -> TypeGuard[Entry]:
    return entry is not None and isinstance(entry.event, OffsetCommitted)


def _back(chronicle: Chronicle, group: str, rising: Rising, why: Why) -> steps.SetBack:
    """Return the step of offsets that went back, by a commit or without one."""
    first = rising.first
    if not rising.why:
        event = first.event
        assert isinstance(event, OffsetCommitted | CommitIgnored)
        reset = chronicle.resets.is_from(first, group, event.topic, event.queue_id)
        back = _step(chronicle, steps.SetBack, first, why)
        return msgspec.structs.replace(back, by_reset=reset)
    lost = lost_by(rising.why, first.event.node)
    return step_of(
        steps.SetBack,
        first,
        why(first),
        group=group,
        client_id="",
        offset=rising.first_offset,
        lost_by=lost,
    )


def lost_by(why: str, node: str) -> str:
    """Return how commits were lost at a node, as a clause: why is that of a `Rising`."""
    return {
        "kill": f"the kill of {node} lost the commits since it last wrote consumerOffset.json",
        "master": f"{node} took over the offsets of its master, which does not have these commits",
        "restart": f"{node} came back with old offsets: it does not copy those of its slave",
    }.get(why, f"the offsets were removed at {node}")


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
        by_reset=chronicle.resets.is_from(entry, event.group, event.topic, event.queue_id),
        dropped=any(
            getattr(one.event, "group", "") == event.group
            for one in chronicle.collided.get(place, ())
        ),
    )


def _step(chronicle: Chronicle, kind: type[OfCommit], entry: Entry, why: Why) -> OfCommit:
    event = entry.event
    assert isinstance(event, OffsetCommitted | CommitIgnored)
    request = chronicle.requests.get(entry.cause)
    peer = getattr(request.event, "peer", "") if request is not None else ""
    return step_of(kind, entry, why(entry), client_id=chronicle.client(event.node, peer))


def offsets_went_back(
    chronicle: Chronicle, wants: Callable[[str], bool], group: str | None
) -> Steps[list[str]]:
    """Return one line for each cause by which offsets of a group in a topic went back."""
    found: dict[tuple[str, str, str, str], list[Back]] = {}
    for back in list(chronicle.back):
        yield
        if wants(back.topic) and group in (None, back.group) and not _is_deleted(chronicle, back):
            key = back.entry.event.node, back.group, back.topic, back.why
            found.setdefault(key, []).append(back)
    lines = []
    for (node, one, topic, why), backs in found.items():
        yield
        number = sum(back.before - max(back.offset, 0) for back in backs)
        at = clock_text(backs[-1].entry.at_ms)
        lines.append(
            f"offsets of group {one} in {topic} went back by {counted(number, 'message')} at {at}:"
            f" {lost_by(why, node)}; these messages come again"
        )
    return [printable(line) for line in lines]


def _is_deleted(chronicle: Chronicle, back: Back) -> bool:
    """Return whether offsets were removed with their topic, so that no message comes again."""
    node, cause = back.entry.event.node, back.entry.cause
    deleted = chronicle.deleted.get((chronicle.broker_names.get(node, node), back.topic))
    return back.why == "removed" and deleted is not None and 0 < cause == deleted.cause
