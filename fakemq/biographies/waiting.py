"""Finds out which messages wait for a time, or should have waited."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakemq import events
from fakemq.biographies.because import due_text
from fakemq.biographies.findings import Findings, name_of
from fakemq.biographies.half_messages import delayed_half
from fakemq.core import inspection
from fakemq.dispatch.node import NodeState
from fakemq.journal.journal import clock_text
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.properties import DELAY_TIME_LEVEL, MIN_OFFSET, TIMER_DEL_UNIQKEY, TIMES

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.broker.broker import Broker
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore
    from fakemq.protocol.message import MessageExt


HALF_DELAYED = (
    "a half message with a delay level or a time waits for that, and loses its topic: a commit does"
    " not find it, and no consumer gets it"
)


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
        found.add(one.topic, f"{reason}; {still}{copied(one.message.properties)}", name)


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
        found.add(topic, reason + copied(stored.properties), name_of(stored))


def add_ignored_time(
    chronicle: Chronicle, broker: Broker, record: Record, stored: MessageExt, found: Findings
) -> None:
    """Add a message whose time or delay level its broker did not read, so that it came at once.

    4.9.7 knows no times, and neither reads those of a message in a batch. Source:
    broker/util/HookUtils.java#handleScheduleMessage, store/CommitLog.java#asyncPutMessages (5.5.0)
    """
    in_batch = _in_batch(chronicle, record)
    if not in_batch and broker.knows_times:
        return
    if in_batch and record in chronicle.made_from:
        return
    names = TIMES | {DELAY_TIME_LEVEL} if in_batch else TIMES
    for name in sorted(names.intersection(stored.properties)):
        why = f"only brokers of reference 5.5.0 know {name}, so it was stored without a delay"
        if in_batch:
            why = (
                f"no broker reads {name} of a message in a batch, so it was stored without a delay"
            )
        found.add(stored.topic, why, name_of(stored))


def _in_batch(chronicle: Chronicle, record: Record) -> bool:
    """Return whether a record was sent in a batch."""
    appended = chronicle.appended.get(record)
    request = None if appended is None else chronicle.requests.get(appended.cause)
    return getattr(request and request.event, "code", None) == RequestCode.SEND_BATCH_MESSAGE


def discarded(chronicle: Chronicle, record: Record) -> tuple[str, str]:
    """Return the topic of a record that waited for a time, and why no consumer gets it; two empty
    texts for one that waits, or has come."""
    half = delayed_half(chronicle, record)
    if half:
        return half, HALF_DELAYED
    for entry in chronicle.news.get(record, ()):
        event = entry.event
        if isinstance(event, events.TimerDiscarded | events.ScheduledDiscarded):
            topic = event.topic or chronicle.sent_to(record)
            batch = ", for a batch cannot have a time" if _in_batch(chronicle, record) else ""
            return topic, f"discarded at {clock_text(entry.at_ms)}: {event.why}{batch}"
    return "", ""


def copied(properties: Mapping[str, str]) -> str:
    """Return that the delay of a message was copied from a received one, as the end of a reason;
    "" if it was not: clients write ``MIN_OFFSET`` into what they receive."""
    if MIN_OFFSET not in properties:
        return ""
    return "; its properties are those of a received message, and so is its delay"
