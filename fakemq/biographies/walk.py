"""Follows one message from its first record to every record made from it; collects the steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from fakemq import events
from fakemq.biographies import steps
from fakemq.biographies.because import because, named, sent_answer, step_of
from fakemq.biographies.biography import Biography
from fakemq.biographies.chronicle import Chronicle, Record
from fakemq.biographies.commits import commit_steps
from fakemq.biographies.steps import Step
from fakemq.events.faults import AnswerWithheld
from fakemq.events.grpc import RpcReceived
from fakemq.protocol.timers import TIMER_TOPIC
from fakemq.protocol.topics import SCHEDULE_TOPIC, TRANS_HALF_TOPIC

if TYPE_CHECKING:
    from fakemq.biographies.nodes import Nodes
    from fakemq.biographies.pops import Place
    from fakemq.core.views import Message
    from fakemq.journal.entries import Entry

_UNSEEN = (SCHEDULE_TOPIC, TRANS_HALF_TOPIC, TIMER_TOPIC)
"""Topics that consumers cannot see: the broker alone reads their queues."""


def message_name(message: Message) -> str:
    """Return a biography's title: message id, body (shortened to 40 bytes) and topic."""
    body = message.body if len(message.body) <= 40 else message.body[:37] + b"..."
    return f"{message.msg_id} {body!r} of {message.topic}"


def appended_name(event: events.LogAppended) -> str:
    """Return a biography's title as far as the journal has it: message id, topic and keys."""
    keys = f" with the keys {event.keys}" if event.keys else ""
    return f"{event.msg_id} of {event.topic}{keys}"


class Walk:
    """Collects the steps of one message; used once."""

    def __init__(self, nodes: Nodes, chronicle: Chronicle) -> None:
        self._nodes = nodes
        self._journal = nodes.journal
        self._chronicle = chronicle
        self._steps: list[Step] = []
        self._times: Counter[str] = Counter()
        """Group → its deliveries counted so far."""
        self._lacking: set[str] = set()
        """Slaves that have a `NotReplicated` step already: one is enough, for the first record."""
        self._moments: dict[int, int] = {}
        """Number of an entry that made a record → that of the record's append, if it is earlier.

        A pull that waits is answered between both: its delivery still follows the record.
        """

    def biography(self, message: Message) -> Biography:
        """Return the biography of the message to which a record belongs, from its first record."""
        root: Record = (message.broker, message.commit_log_offset)
        source = self._chronicle.made_from
        while root in source:
            root = source[root][0]
        if self._chronicle.forgotten(root):
            self._forgotten(message, root)
        return self.biography_from(root, message_name(message), message)

    def biography_since(self, appended: Entry) -> Biography:
        """Return the biography that begins with an entry: what is gone since has one, too."""
        event, names = appended.event, self._chronicle.broker_names
        assert isinstance(event, events.LogAppended)
        record: Record = (names.get(event.node, event.node), event.phy_offset)
        name = appended_name(event)
        present = self._chronicle.appended[record]
        if present is appended:
            return self.biography_from(record, name)
        self._stored(appended)  # the rest of the chronicle is about what has its place now
        self._add(steps.Replaced, present, "", phy_offset=record[1])
        return self._in_order(name)

    def biography_from(self, root: Record, name: str, message: Message | None = None) -> Biography:
        """Return the biography that begins with a record; ``message`` is one of its records."""
        self._walk(root, "", message)
        return self._in_order(name)

    def _in_order(self, name: str) -> Biography:
        # There are three kinds of steps, in this order:
        # 1. the remark that the journal does not go back far enough;
        # 2. what happened, by journal number, a record made from another when it was appended;
        # 3. the remarks about what has not happened yet.
        happened = sorted(
            (step for step in self._steps if step.seq),
            key=lambda step: self._moments.get(step.seq, step.seq),
        )
        rest = [step for step in self._steps if not step.seq]
        before = [step for step in rest if isinstance(step, steps.Forgotten)]
        after = [step for step in rest if not isinstance(step, steps.Forgotten)]
        return Biography(name, [*before, *self._counted(happened), *after])

    def _counted(self, happened: list[Step]) -> Iterator[Step]:
        """Number the deliveries of each group, which only the final order of steps allows."""
        for step in happened:
            if isinstance(step, steps.Delivered):
                self._times[step.group] += 1
                yield msgspec.structs.replace(step, times=self._times[step.group])
            else:
                yield step

    def _forgotten(self, message: Message, root: Record) -> None:
        first_seq = self._journal.first_seq
        why = "it was stored before the journal begins"
        if not self._nodes.has_master(root[0]):
            why = f"no broker is master of {root[0]} any longer: look the message up again"
        elif first_seq > 1:
            why = f"the journal has forgotten how it was stored: it begins with entry {first_seq}"
        self._steps.append(
            steps.Forgotten(seq=0, at_ms=message.store_timestamp_ms, node=root[0], why=why)
        )

    # -- one record ---------------------------------------------------------------------------

    def _walk(self, record: Record, inherited: str, message: Message | None = None) -> None:
        """Add the steps of a record and of every record made from it, such as a retry.

        ``inherited`` is the reason why the record was made; a delivery without a reason of its own
        gets it.
        """
        chronicle = self._chronicle
        appended = chronicle.appended.get(record)
        made = record in chronicle.made_from
        place = _place(record, appended, message)
        if appended is not None and not made:
            self._stored(appended)
        for entry in chronicle.news.get(record, ()):
            if not made or not isinstance(entry.event, events.Dispatched | events.Scheduled):
                self._news(record, entry, seen=place is not None and place[1] not in _UNSEEN)
        if appended is not None:
            self._replicas(record, appended, first=not made)
        if place is not None and place[1] not in _UNSEEN:
            for one in (place, *chronicle.further_places(record)):
                self._deliveries(one, inherited)
                self._steps += commit_steps(chronicle, one, appended, self._why)
                self._popped(one)
        for target, entry in chronicle.made.get(record, ()):
            why = self._why(entry)
            copy = chronicle.appended.get(target)
            if copy is not None and copy.seq < entry.seq:
                self._moments[entry.seq] = copy.seq
            if isinstance(entry.event, events.ScheduledDelivered):
                why = self._with_jump(record, entry, why)
            self._made(entry, target, why)
            self._walk(target, why)

    def _why(self, entry: Entry) -> str:
        return because(self._journal, self._chronicle, entry)

    def _with_jump(self, record: Record, entry: Entry, why: str) -> str:
        """Return ``why`` a delay ended, after a jump of its broker's clock during the delay."""
        for news in self._chronicle.news.get(record, ()):
            if isinstance(news.event, events.Scheduled):
                jump = self._chronicle.wall_jump(entry.event.node, news.seq, entry.seq)
                if jump is not None:
                    return ", ".join(filter(None, (named(jump.event), why)))
        return why

    def _stored(self, entry: Entry) -> None:
        event, chronicle = entry.event, self._chronicle
        assert isinstance(event, events.LogAppended)
        request = chronicle.requests.get(entry.cause)
        sender = answer = ""
        if request is not None and isinstance(request.event, events.RequestReceived):
            peer = request.event.peer
            client_id = chronicle.client(event.node, peer)
            sender = f"{client_id} ({peer})" if client_id else peer
            answer = sent_answer(chronicle, entry)
        record = (chronicle.broker_names.get(event.node, event.node), event.phy_offset)
        copies, replicas = chronicle.copies(entry)
        self._add(
            steps.Stored,
            entry,
            offset=event.queue_offset,
            sender=sender,
            answer=answer,
            copies=copies,
            replicas=replicas,
            beside=chronicle.roles.beside(event.node, entry.seq),
        )
        for cut in chronicle.roles.cuts(*record, entry.seq):
            self._add(steps.CutOff, cut, when=chronicle.roles.became(cut))

    def _add(
        self, kind: type[Step], entry: Entry, reason: str | None = None, /, **fields: Any
    ) -> None:
        """Add the step of an entry; its reason is that of the entry, unless it is given."""
        reason = self._why(entry) if reason is None else reason
        self._steps.append(step_of(kind, entry, reason, **fields))

    def _news(self, record: Record, entry: Entry, *, seen: bool) -> None:
        """Add the step of what happened to a record, if it says something new."""
        event, node = entry.event, entry.event.node
        match event:
            case events.Dispatched() if seen and not self._nodes.is_slave(node):
                self._add(steps.Dispatched, entry)
            case events.AlsoQueued():
                self._add(steps.FurtherQueues, entry)
            case events.LiteTopicExpired():
                self._add(steps.LiteTopicEnded, entry)
            case events.Scheduled():
                self._delayed(entry, event)
            case events.TransactionDiscarded():
                why = f"no producer decided its transaction in {event.times} checks"
                self._add(steps.Discarded, entry, why=why)
            case events.ScheduledDiscarded() | events.TimerDiscarded():
                self._add(steps.Discarded, entry)
            case events.HalfStored():
                self._add(steps.HalfStored, entry, "")
            case events.TransactionEnded():
                self._add(steps.RolledBack, entry, why_not=self._chronicle.ended_before(entry))
            case events.DeadLettered():
                self._made(entry, (node, event.phy_offset), self._why(entry))
            case events.TimerSet() if not self._is_rolled(record):
                due_at_ms = self._by_cluster(entry, event.due_at_ms)
                self._add(steps.TimerSet, entry, "", due_at_ms=due_at_ms)
            case events.TimerRecalled():
                self._add(steps.Recalled, entry)

    def _is_rolled(self, record: Record) -> bool:
        source = self._chronicle.made_from.get(record)
        return source is not None and isinstance(source[1].event, events.TimerRolled)

    def _made(self, entry: Entry, target: Record, why: str) -> None:
        """Add the step of a record that was made from another one."""
        event = entry.event
        match event:
            case events.ScheduledDelivered(queue_offset=offset):
                self._add(steps.DelayEnded, entry, why, offset=offset)
            case events.Escaped(queue_offset=offset):
                self._add(steps.HandedOver, entry, why, offset=offset)
            case events.SentBack():
                self._add(steps.SentBack, entry, why, due_at_ms=self._due_at_ms(target))
            case events.DeadLettered(from_phy_offset=source):
                why = why or self._buried_by(entry)
                self._add(steps.DeadLettered, entry, why, from_client=source is None)
            case events.TransactionChecked():
                self._add(steps.Checked, entry, why, client_id=self._chronicle.asked(entry))
            case events.TransactionEnded():
                self._add(steps.Committed, entry, why)
            case events.Scheduled():
                # The client sent the retry itself, because it could not send the message back.
                self._stored(self._chronicle.appended[target])
                self._delayed(entry, event)
            case events.Revived(reconsume_times=times, retry_offset=offset):
                self._add(steps.Revived, entry, why, attempt=times + 1, offset=offset)
            case events.TimerRolled():
                self._add(steps.TimerRolled, entry, why)
            case events.TimerDelivered(queue_offset=offset):
                self._add(steps.TimerEnded, entry, why, offset=offset)

    def _buried_by(self, entry: Entry) -> str:
        """Return which gRPC client let a message go to the DLQ, or that the front did."""
        for cause in self._journal.cause_chain(entry):
            if isinstance(cause.event, RpcReceived):
                if cause.event.rpc == "ForwardMessageToDeadLetterQueue":
                    return f"forwarded by {cause.event.client_id}"
                return f"tried too often, found when {cause.event.client_id} received"
        return ""

    def _delayed(self, entry: Entry, event: events.Scheduled) -> None:
        self._add(steps.Delayed, entry, "", due_at_ms=self._by_cluster(entry, event.due_at_ms))

    def _due_at_ms(self, record: Record) -> int:
        for entry in self._chronicle.news.get(record, ()):
            if isinstance(entry.event, events.Scheduled):
                return self._by_cluster(entry, entry.event.due_at_ms)
        return 0

    def _by_cluster(self, entry: Entry, at_ms: int) -> int:
        """Return a time of an event by the cluster's clock, as all times of a biography.

        The event has the time of its broker's clock, which may be skewed.
        """
        return at_ms - self._chronicle.skew_ms(entry.event.node, entry.seq)

    def _deliveries(self, place: Place, inherited: str) -> None:
        for entry in self._chronicle.withheld.get(place, ()):
            withheld = entry.event
            assert isinstance(withheld, AnswerWithheld)
            client_id = self._chronicle.client(withheld.node, withheld.peer)
            self._add(steps.Withheld, entry, client_id=client_id)
        for entry in self._chronicle.delivered.get(place, ()):
            event = entry.event
            assert isinstance(event, events.Delivered)
            self._delivered(place, entry, event, self._why(entry) or inherited)

    def _delivered(self, place: Place, entry: Entry, event: events.Delivered, why: str) -> None:
        """Add the step of a delivery, by a pull or by a pop."""
        chronicle = self._chronicle
        pops, client_id = chronicle.pops, chronicle.client(event.node, event.peer)
        collided = chronicle.dropped(place, entry)
        pop = pops.of_delivery.get(entry.seq)
        if collided is not None:
            self._add(
                steps.Dropped,
                entry,
                why,
                client_id=client_id,
                expression=collided.expression,
                tag=collided.tag,
                same_as=collided.same_as,
                by_front=chronicle.is_grpc(event.peer),
            )
        elif pop is not None and isinstance(pop.event, events.Popped):
            self._add(
                steps.Popped,
                entry,
                why,
                times=0,
                client_id=client_id,
                invisible_until_ms=self._by_cluster(pop, pop.event.invisible_until_ms),
                in_order=pop.event.in_order,
                attempt_id=pop.event.attempt_id,
                same_attempt=bool(pops.same_attempt(chronicle.delivered[place], pop)),
            )
        else:
            self._add(steps.Delivered, entry, why, times=0, client_id=client_id)

    def _popped(self, place: Place) -> None:
        """Add the acknowledgements of a popped message, the changes of its invisible time, and the
        kills that lost that it was out."""
        chronicle, pops = self._chronicle, self._chronicle.pops
        for entry in pops.acknowledged.get(place, ()):
            event = entry.event
            assert isinstance(event, events.Acknowledged)
            self._add(
                steps.PopAcknowledged,
                entry,
                client_id=chronicle.client(event.node, event.peer),
                too_late=pops.is_late(place, entry) and not event.has_effect,
                why_not="" if event.has_effect else pops.why_not(place, entry),
            )
        for entry, group in pops.lost_with(chronicle.delivered.get(place, ()), place):
            self._add(steps.OrderLost, entry, group=group)
        for entry in pops.changed.get(place, ()):
            changed = entry.event
            assert isinstance(changed, events.InvisibleTimeChanged)
            wish = pops.by_front(entry)
            is_moved = changed.next_pop_time_ms != changed.pop_time_ms
            client_id = chronicle.client(changed.node, changed.peer)
            self._add(
                steps.InvisibleTimeChanged,
                entry,
                client_id=client_id if wish is None else wish.client_id or client_id,
                invisible_until_ms=self._by_cluster(entry, changed.invisible_until_ms),
                by_front="" if wish is None else wish.why,
                why_not="" if changed.has_effect else pops.why_not(place, entry),
                once_more=not changed.has_effect and is_moved,
            )

    # -- replication --------------------------------------------------------------------------

    def _replicas(self, record: Record, appended: Entry, *, first: bool) -> None:
        """Add which slaves have a record. For later records than the ``first`` one, only which
        slaves lack it."""
        broker_name, phy_offset = record
        for name, log_end in self._nodes.slaves(broker_name):
            if log_end <= phy_offset:
                if name in self._lacking:
                    continue
                self._lacking.add(name)
                now_ms, why = self._nodes.now_ms(), self._nodes.why_missing(name)
                self._steps.append(steps.NotReplicated(seq=0, at_ms=now_ms, node=name, because=why))
                continue
            entry = self._chronicle.replicated[name].past(phy_offset)
            if first and entry is not None and entry.seq > appended.seq:
                self._add(steps.Replicated, entry, node=name)


def _place(record: Record, appended: Entry | None, message: Message | None) -> Place | None:
    """Return the place in a queue where consumers find a record; None if it is unknown."""
    if appended is not None:
        event = appended.event
        assert isinstance(event, events.LogAppended)
        return record[0], event.topic, event.queue_id, event.queue_offset
    if message is not None and record == (message.broker, message.commit_log_offset):
        return record[0], message.topic, message.queue_id, message.offset
    return None
