"""By the end every message was delivered to every group that wants it, or is a dead letter."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from fakemq.events import DeadLettered
from fakemq.sim.events import Consumed, Decided, Sent
from fakemq.sim.history import History, Violation
from fakemq.sim.invariants.durability import SEND_OK

NAME = "delivered or dead"


def undelivered(
    history: History, groups: Mapping[str, Collection[str]], excused: Collection[str] = ()
) -> Iterator[Violation]:
    """Messages that were stored and committed, and neither consumed well nor given up.

    ``groups`` are the topics that each consumes; messages at the brokers ``excused`` may be gone.
    What was rolled back must have been delivered to nobody.
    """
    done: dict[str, set[str]] = {group: set() for group in groups}
    last: dict[tuple[str, str], Consumed] = {}
    for consumed in history.of(Consumed):
        last[consumed.group, consumed.msg_id] = consumed
        if consumed.well:
            done[consumed.group].add(consumed.msg_id)
    for dead in history.of(DeadLettered):
        done.setdefault(dead.group, set()).add(dead.msg_id)
    rolled_back = {one.key for one in history.of(Decided) if one.how == "rollback"}
    for sent in history.of(Sent):
        if sent.status != SEND_OK or sent.broker in excused:
            continue
        for group, topics in groups.items():
            if sent.topic not in topics:
                continue
            had = last.get((group, sent.msg_id))
            if sent.key in rolled_back:
                if had is not None:
                    text = f"{_name(sent)} was rolled back, and consumed by {had.node}"
                    yield Violation(NAME, text, (sent.key, sent.msg_id))
            elif sent.msg_id not in done[group]:
                how = "it never had it" if had is None else f"{had.node} wanted it again, in vain"
                text = f"{_name(sent)} was not delivered to {group}: {how}"
                yield Violation(NAME, text, (sent.key, sent.msg_id))


def _name(sent: Sent) -> str:
    return (
        f"{sent.key} ({sent.msg_id}), sent to {sent.topic} queue {sent.queue_id} at {sent.broker}"
    )
