"""The steps of POP and of timers, which brokers of 5.5.0 have."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fakemq import events
from fakemq.biographies import steps
from fakemq.biographies.chronicle import Chronicle
from fakemq.biographies.pops import Place
from fakemq.biographies.steps import Step
from fakemq.journal.entries import Entry

Why = Callable[[Entry], str]
"""Return the reason of an entry as text."""


def delivered(
    chronicle: Chronicle, place: Place, entry: Entry, event: events.Delivered, why: str
) -> Step:
    """Return the step of a delivery, by a pull or by a pop."""
    client_id = chronicle.client(event.node, event.peer)
    collided = chronicle.dropped(place, entry)
    if collided is not None:
        return steps.Dropped(
            seq=entry.seq,
            at_ms=entry.at_ms,
            node=event.node,
            because=why,
            group=event.group,
            client_id=client_id,
            peer=event.peer,
            expression=collided.expression,
            tag=collided.tag,
            same_as=collided.same_as,
            by_front=chronicle.is_grpc(event.peer),
        )
    pop = chronicle.pops.of_delivery.get(entry.seq)
    if pop is None or not isinstance(pop.event, events.Popped):
        return steps.Delivered(
            seq=entry.seq,
            at_ms=entry.at_ms,
            node=event.node,
            because=why,
            times=0,
            group=event.group,
            client_id=client_id,
            peer=event.peer,
        )
    return steps.Popped(
        seq=entry.seq,
        at_ms=entry.at_ms,
        node=event.node,
        because=why,
        times=0,
        group=event.group,
        client_id=client_id,
        peer=event.peer,
        invisible_until_ms=by_cluster(chronicle, pop, pop.event.invisible_until_ms),
        in_order=pop.event.in_order,
        attempt_id=pop.event.attempt_id,
        same_attempt=bool(chronicle.pops.same_attempt(chronicle.delivered[place], pop)),
    )


def of_place(chronicle: Chronicle, place: Place, why: Why) -> Iterator[Step]:
    """Yield the acknowledgements of a popped message, the changes of its invisible time, and the
    kills that lost that it was out."""
    pops = chronicle.pops
    for entry in pops.acknowledged.get(place, ()):
        event = entry.event
        assert isinstance(event, events.Acknowledged)
        yield steps.PopAcknowledged(
            seq=entry.seq,
            at_ms=entry.at_ms,
            node=event.node,
            because=why(entry),
            group=event.group,
            client_id=chronicle.client(event.node, event.peer),
            peer=event.peer,
            too_late=pops.is_late(place, entry) and not event.has_effect,
            has_effect=event.has_effect,
            why_not="" if event.has_effect else pops.why_not(place, entry),
        )
    for entry, group in pops.lost_with(chronicle.delivered.get(place, ()), place):
        yield steps.OrderLost(
            seq=entry.seq,
            at_ms=entry.at_ms,
            node=entry.event.node,
            because=why(entry),
            group=group,
        )
    for entry in pops.changed.get(place, ()):
        event = entry.event
        assert isinstance(event, events.InvisibleTimeChanged)
        wish = pops.by_front(entry)
        client_id = chronicle.client(event.node, event.peer)
        yield steps.InvisibleTimeChanged(
            seq=entry.seq,
            at_ms=entry.at_ms,
            node=event.node,
            because=why(entry),
            group=event.group,
            client_id=client_id if wish is None else wish.client_id or client_id,
            peer=event.peer,
            invisible_until_ms=by_cluster(chronicle, entry, event.invisible_until_ms),
            by_front="" if wish is None else wish.why,
            has_effect=event.has_effect,
            why_not="" if event.has_effect else pops.why_not(place, entry),
            once_more=not event.has_effect and event.next_pop_time_ms != event.pop_time_ms,
        )


def news(chronicle: Chronicle, entry: Entry, why: str, *, rolled: bool) -> Step | None:
    """Return the step of what happened to a timer message; None if it says nothing new."""
    event, seq, at_ms = entry.event, entry.seq, entry.at_ms
    match event:
        case events.TimerSet() if not rolled:
            due_at_ms = by_cluster(chronicle, entry, event.due_at_ms)
            return steps.TimerSet(
                seq=seq, at_ms=at_ms, node=event.node, topic=event.topic, due_at_ms=due_at_ms
            )
        case events.TimerRecalled():
            return steps.Recalled(seq=seq, at_ms=at_ms, node=event.node, because=why)
        case events.TimerDiscarded():
            return steps.Discarded(
                seq=seq, at_ms=at_ms, node=event.node, because=why, why=event.why
            )
    return None


def made(entry: Entry, why: str) -> Step | None:
    """Return the step of a record that a revive or a timer made from another one."""
    event, seq, at_ms, node = entry.event, entry.seq, entry.at_ms, entry.event.node
    match event:
        case events.Revived():
            return steps.Revived(
                seq=seq,
                at_ms=at_ms,
                node=node,
                because=why,
                group=event.group,
                attempt=event.reconsume_times + 1,
                retry_topic=event.retry_topic,
                offset=event.retry_offset,
            )
        case events.TimerRolled():
            return steps.TimerRolled(
                seq=seq, at_ms=at_ms, node=node, because=why, times=event.times
            )
        case events.TimerDelivered():
            return steps.TimerEnded(
                seq=seq,
                at_ms=at_ms,
                node=node,
                because=why,
                topic=event.topic,
                queue_id=event.queue_id,
                offset=event.queue_offset,
            )
    return None


def by_cluster(chronicle: Chronicle, entry: Entry, at_ms: int) -> int:
    """Return a time of a node's clock by the cluster's clock, as all times of a biography."""
    return at_ms - chronicle.skew_ms(entry.event.node, entry.seq)
