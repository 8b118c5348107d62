"""Finds out which messages wait for a time, or should have waited."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq import events
from fakemq.biographies.because import due_text
from fakemq.biographies.findings import Findings, name_of
from fakemq.core import inspection
from fakemq.dispatch.node import NodeState
from fakemq.journal.journal import clock_text
from fakemq.protocol.timers import TIMER_DEL_UNIQKEY, TIMES

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.broker.broker import Broker
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore
    from fakemq.protocol.message import MessageExt


def add_delayed(core: ClusterCore, wants: Callable[[str], bool], found: Findings) -> Steps[None]:
    """Add the messages that wait at delay levels."""
    clock = core.clock
    waiting = []
    for one in inspection.at_delay_levels(core):
        if wants(one.topic):
            waiting.append(one)
        yield
    for one in sorted(waiting, key=lambda one: one.due_at_ms):
        yield
        broker = core.master(one.broker)
        skew_ms = 0 if broker is None else broker.clock.skew_ms
        at_ms = one.due_at_ms - skew_ms  # all texts show the cluster's clock
        if broker is None:
            still = f"no broker is master of {one.broker}"
        elif broker.state is not NodeState.RUNNING:
            still = f"its broker {broker.name} is {broker.state}"
        elif clock.frozen:
            still = "the clock is frozen"
        else:
            still = "the clock runs"
        due = due_text(at_ms - clock.now_ms())
        reason = f"waits at delay level {one.level}, {due} at {clock_text(at_ms)}"
        name = one.message.keys or repr(one.message.body[:40])
        found.add(one.topic, f"{reason}; {still}", name)


def add_timers(
    core: ClusterCore, chronicle: Chronicle, wants: Callable[[str], bool], found: Findings
) -> Steps[None]:
    """Add the messages that wait in the timer wheel."""
    clock = core.clock
    waiting: list[tuple[int, MessageExt, str]] = []
    recalled: set[str] = set()
    for record, news in list(chronicle.news.items()):
        yield
        timers = [one for one in news if isinstance(one.event, events.TimerSet)]
        if not timers or record in chronicle.made:
            continue
        event = timers[-1].event
        assert isinstance(event, events.TimerSet)
        over = events.TimerRecalled | events.TimerDiscarded
        if any(isinstance(one.event, over) for one in news) or not wants(event.topic):
            continue
        stored = core.brokers[event.node].store.look_message_by_offset(record[1])
        if stored is None:
            continue
        if TIMER_DEL_UNIQKEY in stored.properties:
            recalled.add(event.msg_id)
        else:
            due_at_ms = event.due_at_ms - chronicle.skew_ms(event.node, timers[-1].seq)
            waiting.append((due_at_ms, stored, event.topic))
    for due_at_ms, stored, topic in waiting:
        if stored.msg_id in recalled:
            found.add(topic, "recalled: it will not be delivered", name_of(stored))
            continue
        due = due_text(due_at_ms - clock.now_ms())
        frozen = "; the clock is frozen" if clock.frozen else ""
        reason = f"waits in the timer wheel until {clock_text(due_at_ms)}, {due}{frozen}"
        found.add(topic, reason, name_of(stored))


def add_ignored_time(broker: Broker, record: Record, topic: str, found: Findings) -> None:
    """Add a timer message that a broker of 4.9.7 took for a message without a delay."""
    stored = broker.store.look_message_by_offset(record[1])
    if stored is None:
        return
    for name in sorted(TIMES.intersection(stored.properties)):
        why = f"only brokers of reference 5.5.0 know {name}, so it was stored without a delay"
        found.add(topic, why, name_of(stored))
