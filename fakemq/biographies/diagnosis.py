"""Finds out what most likely keeps messages from being consumed, for a failing test's report.

Each finding is one line: some messages and one reason. The order is:

1. reasons that are certain: a broker that is down, a delay that has not ended;
2. faults that acted, which may explain the rest;
3. observations that may follow from a fault: a group without members, a missing acknowledgement.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from fakemq import events
from fakemq.biographies.because import named, times_text
from fakemq.biographies.commits import has_acked, last_back_seq
from fakemq.biographies.dead_letters import add_dead, not_sent_back
from fakemq.biographies.findings import Findings, name_of, name_of_appended
from fakemq.biographies.groups import Undelivered
from fakemq.biographies.half_messages import uncommitted
from fakemq.biographies.incidents import incidents
from fakemq.biographies.inflight import inflight
from fakemq.biographies.members import rival_members
from fakemq.biographies.no_master import without_master
from fakemq.biographies.no_route import asked_for_mistyped, asked_too_early, asked_while_down
from fakemq.biographies.replication import add_overwritten, replication, server_of
from fakemq.biographies.replies import add_failed_replies
from fakemq.biographies.same_id import stored_again
from fakemq.biographies.steps import NO_LONGER_COUNTS, RESET_PENDING
from fakemq.biographies.undecodable import add_dropped, add_undecodable
from fakemq.biographies.waiting import add_delayed, add_ignored_time, add_timers, discarded
from fakemq.core import inspection
from fakemq.dispatch.node import NodeState
from fakemq.journal.journal import clock_text
from fakemq.protocol.pop import ORIGIN_GROUP, REVIVE_TOPIC_PREFIX, pop_retry_topic
from fakemq.protocol.timers import TIMER_TOPIC
from fakemq.protocol.topics import (
    DLQ_PREFIX,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TOOLS_GROUP,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    dlq_topic,
    retry_topic,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.biographies.pops import Place
    from fakemq.broker.broker import Broker
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore
    from fakemq.journal.entries import Entry
    from fakemq.protocol.message import MessageExt

_WAITING = (SCHEDULE_TOPIC, TIMER_TOPIC)
_BROKERS_OWN = (*_WAITING, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC, TRANS_CHECK_MAX_TIME_TOPIC)

FIRST_COMMIT_MS = 10_000
"""How long after its start a client commits its offsets first, RocketMQ's Java clients too."""
NOT_YET_ACKED = (
    "not acked yet: a client commits its offsets every 5 s, for the first time 10 s after its"
    " start, and when it is closed"
)
NOT_REVIVED = "; its broker has not yet stored it for a retry, which takes some seconds"
NOT_FINISHED = (
    "never acked: its listener has not returned, or the consumer has no listener and no loop takes"
    " its messages"
)


def diagnosis(
    core: ClusterCore, chronicle: Chronicle, topic: str | None = None, group: str | None = None
) -> Steps[list[str]]:
    """Return the findings about the messages of a topic, or of all topics for None.

    ``group`` limits them to one consumer group.
    """
    search = _Search(core, chronicle, topic, group)
    certain = yield from search.certain()  # first: it also collects what the others return
    early = [*without_master(core), *(yield from search.mistyped())]
    early += [*(yield from search.too_early()), *(yield from search.rivals())]
    uncertain = yield from search.uncertain()
    done = yield from incidents(core, chronicle, search.wants, group, search.name)
    down, faults = (yield from search.down()), (yield from search.faults())
    found = [*early, *certain, *done, *down, *faults, *uncertain]
    return found + chronicle.refusals.besides(core, topic, group, found, search.wants)


def diagnosis_of_sends(core: ClusterCore, chronicle: Chronicle, topic: str) -> Steps[list[str]]:
    """Return the findings about messages that a topic should have, whether consumed or not."""
    search = _Search(core, chronicle, topic, None, consumers=False)
    down = without_master(core) + [
        f"{broker.name} is {broker.state}"
        for broker in core.brokers.values()
        if broker.state is not NodeState.RUNNING and not broker.role.is_slave
    ]
    early = [*(yield from search.mistyped()), *(yield from search.too_early())]
    certain = yield from search.certain()
    refused = [*chronicle.refusals.of_topics(search.wants), *chronicle.refusals.of_nodes()]
    again = yield from stored_again(chronicle, search.wants, search.name)
    return [*early, *refused, *again, *certain, *down, *(yield from search.faults())]


def diagnosis_of_dead_letters(
    core: ClusterCore, chronicle: Chronicle, group: str
) -> Steps[list[str]]:
    """Return the findings about messages that a group should have given up."""
    search = _Search(core, chronicle, None, group)
    found = yield from diagnosis(core, chronicle, None, group)
    return [*(yield from not_sent_back(chronicle, group, search.name)), *found]


class _Search:
    """Collects the findings of one diagnosis; used once."""

    def __init__(
        self,
        core: ClusterCore,
        chronicle: Chronicle,
        topic: str | None,
        group: str | None,
        *,
        consumers: bool = True,
    ) -> None:
        self._core = core
        self._chronicle = chronicle
        self._topics = None if topic is None else {topic, retry_topic(group or "")}
        if self._topics is not None and topic is not None:
            self._topics |= {pop_retry_topic(topic, group or "", v2=v2) for v2 in (False, True)}
        """The topics to examine; None for all."""
        self._group = group
        self._why_not = Undelivered(core, chronicle, group)
        self._consumers = consumers
        """Whether deliveries to consumers matter."""
        self._out: set[tuple[str, str, int, int, str]] = set()
        """Place and group of each message that is popped, collected by `certain`."""
        self._undelivered_topics: set[str] = set()
        """Topics with a message that was not delivered, collected by `certain`."""
        self._uncertain = Findings()
        """Observations, collected by `certain` and returned by `uncertain`."""

    def certain(self) -> Steps[list[str]]:
        """Return why messages wait for time or a decision, are lost, or can have no consumer."""
        found, copies = Findings(), Findings()
        yield from add_delayed(self._core, self.wants, found)
        yield from add_timers(self._core, self._chronicle, self.wants, found)
        if self._consumers:
            yield from self._popped(found)
        # Copies of the tables: others may read more of the journal between two steps.
        for record, entry in list(self._chronicle.appended.items()):
            yield
            event = entry.event
            assert isinstance(event, events.LogAppended)
            broker = self._core.brokers[event.node]
            if event.topic == TRANS_HALF_TOPIC:
                self._half(found, record, broker)
            elif event.topic in _WAITING:
                topic, why = discarded(self._chronicle, record)
                if topic and self.wants(topic):
                    found.add(topic, why, self.name(record))
            own = event.topic in _BROKERS_OWN or event.topic.startswith(REVIVE_TOPIC_PREFIX)
            if own or not self.wants(event.topic) or self._chronicle.deletion(record):
                continue
            lost, lacking = replication(self._core, self._chronicle, record, entry, broker)
            for reason in lacking:
                copies.add(event.topic, reason, self.name(record))
            if lost:
                copies.add(event.topic, lost, self.name(record))
                continue
            broker = server_of(self._core, record, broker)
            # None if its file is deleted, or its broker has stopped and closed its files.
            stored = broker.store.look_message_by_offset(record[1])
            name = name_of_appended(event, stored)
            if stored is not None:
                add_ignored_time(self._chronicle, broker, record, stored, found)
                add_failed_replies(self._chronicle, stored, found)
            if event.topic.startswith(DLQ_PREFIX) and not self._reads(event.topic):
                found.add(event.topic, "a dead letter: its group gave it up", name)
            elif self._consumers:
                self._undelivered(found, record, event, stored, broker, name)
                if record in self._chronicle.made:
                    add_dead(self._chronicle, record, stored, self.wants, self._group, found, name)
        yield from add_overwritten(self._chronicle, self.wants, copies)
        return found.lines() + copies.lines()

    def too_early(self) -> Steps[list[str]]:
        """Return which topics clients asked for before these existed."""
        return asked_too_early(self._core, self._chronicle, self.wants, consumers=self._consumers)

    def mistyped(self) -> Steps[list[str]]:
        """Return which topics clients asked for that are most likely mistyped ones of these.

        Where consumers matter call `certain` before.
        """
        topics = self._undelivered_topics
        wants = topics.__contains__ if self._consumers else self.wants
        return asked_for_mistyped(self._core, self._chronicle, wants)

    def rivals(self) -> Steps[list[str]]:
        """Return which members of a group take messages from each other."""
        return rival_members(self._core, self._chronicle, self.wants, self._group)

    def down(self) -> Steps[list[str]]:
        """Return for which topics clients got no route because of a broker that is down.

        Call `certain` before: it has named the brokers of undelivered messages.
        """

        def wants(topic: str) -> bool:
            return self.wants(topic) and topic not in self._undelivered_topics

        return asked_while_down(self._core, self._chronicle, wants)

    def wants(self, topic: str) -> bool:
        """Return whether a topic is to be examined."""
        return self._topics is None or topic in self._topics

    def _examines(self, group: str) -> bool:
        """Return whether it matters what a group received; tools only look at messages."""
        return group != TOOLS_GROUP if self._group is None else group == self._group

    def faults(self) -> Steps[list[str]]:
        """Return which faults acted, and how often."""
        hits: list[Entry] = []
        for found in list(self._chronicle.hits.values()):
            hits += found
            yield
        times: Counter[str] = Counter()
        for hit in sorted(hits, key=lambda hit: hit.seq):
            times[named(hit.event)] += 1
            yield
        return [f"{what} hit {times_text(number)}" for what, number in times.items()]

    def uncertain(self) -> Steps[list[str]]:
        """Return the messages that no member has pulled or acknowledged. Call `certain` before."""
        found = self._uncertain
        for place, deliveries in list(self._chronicle.delivered.items()):
            yield
            broker, queue, queue_id, offset = place
            record = self._chronicle.record_at(*place)
            topic = self._chronicle.topic_of(record, queue)
            if not self.wants(topic) or (record and self._chronicle.deletion(record)):
                continue
            committed = self._chronicle.commits.get((broker, queue, queue_id), {})
            groups = self._chronicle.receivers(place, deliveries)
            popped = self._chronicle.pops.groups(deliveries)
            for group, times in groups.items():
                is_popped = group in popped
                done = self._is_done if is_popped else partial(has_acked, self._chronicle)
                if self._examines(group) and not done(place, group):
                    name = f"offset {offset}" if record is None else self.name(record)
                    set_backs = len(committed.get(group, ())) - 1
                    if is_popped:
                        set_backs = last_back_seq(self._chronicle, place, group)
                    if set_backs > 0:
                        acked = "not acked since a set-back"
                    elif is_popped or not inspection.members(self._core, group):
                        acked = "never acked"
                    else:
                        acked = NOT_YET_ACKED if self._is_new(deliveries, group) else NOT_FINISHED
                    ignored = self._chronicle.ignored.get((broker, queue, queue_id), {})
                    if any(rising.past(offset) for rising in ignored.get(group, ())):
                        acked = f"not acked: its commits have no effect, {RESET_PENDING}"
                    found.add(topic, f"delivered {times_text(times)} to {group}, {acked}", name)
        return found.lines()

    def _is_new(self, deliveries: Sequence[Entry], group: str) -> bool:
        """Return whether a member may still commit the last delivery, because it has just begun."""
        times_ms = (one.at_ms for one in deliveries if getattr(one.event, "group", "") == group)
        return self._core.clock.now_ms() - max(times_ms) < FIRST_COMMIT_MS

    def _is_done(self, place: Place, group: str) -> bool:
        """Return whether a pop needs no finding here: it is acknowledged, revived, or still out."""
        since_seq = last_back_seq(self._chronicle, place, group)
        done = self._chronicle.pops.is_done(place, group, since_seq)
        return done or (*place, group) in self._out

    # -- reasons ------------------------------------------------------------------------------

    def _popped(self, found: Findings) -> Steps[None]:
        """Add the messages that are popped, and neither acknowledged nor revived."""
        clock = self._core.clock
        for one in (yield from inflight(self._core, self._chronicle, self._group)):
            yield
            place = one.broker, one.topic, one.queue_id, one.offset
            self._out.add((*place, one.group))
            record = self._chronicle.record_at(*place)
            topic = self._chronicle.topic_of(record, one.topic)
            if not self.wants(topic):
                continue
            left_ms = one.visible_at_ms - clock.now_ms()
            until = f"invisible until {clock_text(one.visible_at_ms)}"
            if left_ms <= 0:
                until = f"visible since {clock_text(one.visible_at_ms)}, not popped again"
            late = "" if left_ms > 0 or one.in_order else NOT_REVIVED
            frozen = "; the clock is frozen" if clock.frozen else ""
            held = one.client_id or one.peer or "a client that the journal does not know"
            name = f"offset {one.offset}" if record is None else self.name(record)
            deliveries = self._chronicle.delivered.get(place, ())
            number = self._chronicle.receivers(place, deliveries)[one.group]
            pop = self._chronicle.pops.last(deliveries, one.group)
            attempt = pop and self._chronicle.pops.same_attempt(deliveries, pop)
            again = f" (the last time again for attempt {attempt})" if attempt else ""
            # The attempt counts those before the retry topic, or those of a queue in order.
            earlier = 0 if one.in_order else one.attempt - 1
            times = times_text(max(one.attempt, earlier + number))
            more = self._ignored(place, one.group) + late
            found.add(
                topic,
                f"popped {times} by {one.group}{again}, {until}, held by {held}{frozen}{more}",
                name,
            )

    def _ignored(self, place: Place, group: str) -> str:
        """Return that a group's last acknowledgement of a message has no effect, as the end of a
        reason; "" if it has one, or there is none."""
        pops = self._chronicle.pops
        entry = pops.without_effect(place, group)
        if entry is None:
            return ""
        why, at = pops.why_not(place, entry), clock_text(entry.at_ms)
        return f"; the acknowledgement at {at} has no effect: {NO_LONGER_COUNTS} ({why})"

    def _half(self, found: Findings, record: Record, broker: Broker) -> None:
        """Add a half message whose transaction is not committed.

        One that was rolled back is no finding where only consumers are missing: they shall not get
        it.
        """
        half = uncommitted(self._core, self._chronicle, record, broker)
        if half is None or not self.wants(half.topic):
            return
        if half.by_other or not (half.is_rolled_back and self._consumers):
            found.add(half.topic, half.reason, name_of(half.stored))

    def _undelivered(
        self,
        found: Findings,
        record: Record,
        event: events.LogAppended,
        stored: MessageExt | None,
        broker: Broker,
        name: str,
    ) -> None:
        topic = event.topic
        place = record[0], topic, event.queue_id, event.queue_offset
        deliveries = [*self._chronicle.delivered.get(place, ())]
        for further in self._chronicle.further_places(record):
            deliveries += self._chronicle.delivered.get(further, ())
        groups = {getattr(one.event, "group", "") for one in deliveries}
        groups = {group for group in groups if self._examines(group)}
        add_dropped(self._chronicle, place, groups, found, name)
        if groups:
            if stored is not None:
                add_undecodable(self._chronicle, place, groups, stored, found)
            return
        if stored is None:
            down = self._why_not.down(broker)
            if down is not None:
                self._undelivered_topics.add(topic)
                found.add(topic, f"never delivered: {down}", name)
            return
        self._undelivered_topics.add(topic)
        group = stored.properties.get(ORIGIN_GROUP)
        if topic.startswith(RETRY_PREFIX) and group is not None:
            attempt = stored.reconsume_times + 1
            waits = f"revived, waits as attempt {attempt} for the next pop of {group}"
            made = self._chronicle.made_from.get(record)
            revived = None if made is None else made[1].event
            if isinstance(revived, events.Revived):
                source = record[0], revived.topic, revived.queue_id, revived.queue_offset
                waits += self._ignored(source, group)
            self._uncertain.add(topic, waits, name)
            return
        for reason in self._why_not.reasons(broker, stored):
            findings = found if reason.certain else self._uncertain
            findings.add(topic, f"never delivered: {reason.text}", name)

    def _reads(self, topic: str) -> bool:
        """Return whether the examined group reads a topic of dead letters, which are another's."""
        topics = self._topics or ()
        return self._group is not None and topic in topics and topic != dlq_topic(self._group)

    def name(self, record: Record) -> str:
        """Return the name of a stored message."""
        entry = self._chronicle.appended.get(record)
        event = None if entry is None else entry.event
        if not isinstance(event, events.LogAppended):
            return f"the record at {record[1]}"
        broker = self._core.brokers.get(event.node)
        stored = None if broker is None else broker.store.look_message_by_offset(record[1])
        return name_of_appended(event, stored)
