"""The steps of a biography: one class for each kind of event in the life of a message.

``str(step)`` is one line: the time, what happened, and the reason if there is one, as in
``12:00:10.000 delay over, in orders broker-a-0/0@0 — after clock advanced 10s``.
"""

# Over 400 lines: kinds of steps are a table, with a docstring for each kind and field.

from __future__ import annotations

import msgspec

from fakemq.journal.journal import clock_text

NO_LONGER_COUNTS = "a handle that no longer counts"
"""What a receipt handle is for which no message is out."""
RESET = ", to which an operator reset the group"
"""What an offset is that a reset made."""
RESET_PENDING = "a reset of the queue is pending until the next pull of the group"
"""Why a broker of 5.5.0 answers a commit, and does not store it."""
ONE_WAY = "one-way"
"""The answer of a send whose producer waits for none."""


class Step(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """One event in the life of a message, or a remark about what has not happened to it."""

    seq: int
    """The number of its journal entry; 0 for a remark, which has none."""
    at_ms: int
    """The cluster's wall time, in milliseconds since the epoch."""
    node: str
    """The broker where it happened."""
    because: str = ""
    """The reason, if it is an action of the test: a fault that acted, a move of the clock, a broker
    that the test stopped or started; otherwise ""."""

    def text(self) -> str:
        """Return what happened, without the time and the reason."""
        raise NotImplementedError

    def __str__(self) -> str:
        why = f" — {self.because}" if self.because else ""
        return f"{clock_text(self.at_ms)} {self.text()}{why}"


class Forgotten(Step, frozen=True, kw_only=True, gc=False):
    """The journal does not show how the message was stored; ``why`` is the reason."""

    why: str

    def text(self) -> str:
        return self.why


class Stored(Step, frozen=True, kw_only=True, gc=False):
    """The message was appended to the commit log."""

    topic: str
    queue_id: int
    offset: int
    """The offset in the queue."""
    phy_offset: int
    """The byte offset in the commit log."""
    sender: str
    """The client id and address of the producer; "" for a message that a test seeded."""
    answer: str
    """The broker's answer to the producer: SEND_OK or the name of another code; "" for none,
    "one-way" if the producer waits for none."""
    copies: int = 0
    """How many replicas had it by then, the master too; 0 without controllers."""
    replicas: int = 0
    """How many replicas the group has; 0 without controllers."""
    beside: str = ""
    """Which other master the group had then, as text; "" for none."""

    def text(self) -> str:
        by = f", sent by {self.sender}" if self.sender else ""
        answered = f", answered {self.answer}" if self.answer else ""
        if self.answer == ONE_WAY:
            answered = f", {ONE_WAY}"
        elif self.sender and not self.answer:
            answered = ", not answered"
        if self.replicas and self.answer:
            answered += f" with {self.copies} of {self.replicas} copies"
        beside = f", {self.beside}" if self.beside else ""
        at = f"{self.topic} {self.node}/{self.queue_id}@{self.offset}"
        return f"stored in {at}{by}{answered}{beside}"


class CutOff(Step, frozen=True, kw_only=True, gc=False):
    """A replica has lost the message: the end of its log was cut off."""

    when: str
    """Which role the replica had taken, as text."""

    def text(self) -> str:
        return f"cut off at {self.node} {self.when}".rstrip()


class Replaced(Step, frozen=True, kw_only=True, gc=False):
    """The message is gone: after a loss another record was appended at its place in the log."""

    phy_offset: int
    """The place, the byte offset in the commit log."""

    def text(self) -> str:
        return f"gone: {self.node} has another record at {self.phy_offset} of its log"


class Replicated(Step, frozen=True, kw_only=True, gc=False):
    """The slave ``node`` has the message."""

    def text(self) -> str:
        return f"replicated to {self.node}"


class NotReplicated(Step, frozen=True, kw_only=True, gc=False):
    """The slave ``node`` does not have the message yet."""

    def text(self) -> str:
        return f"not replicated to {self.node}{'' if self.because else ' yet'}"


class Dispatched(Step, frozen=True, kw_only=True, gc=False):
    """The message is in its consume queue: consumers can see it."""

    def text(self) -> str:
        return f"dispatched at {self.node}"


class FurtherQueues(Step, frozen=True, kw_only=True, gc=False):
    """The message is in queues that it names, beside its own, such as that of a lite topic."""

    places: tuple[tuple[str, int, int], ...]
    """Topic, queue id and offset of each."""

    def text(self) -> str:
        shown = [f"{topic} {self.node}/{id}@{offset}" for topic, id, offset in self.places[:3]]
        more = len(self.places) - len(shown)
        return f"also in {', '.join(shown)}{f' and {more} more' if more else ''}"


class LiteTopicEnded(Step, frozen=True, kw_only=True, gc=False):
    """The lite topic of the message was deleted: no consumer gets the message any more."""

    queue: str
    """The light queue of the lite topic."""
    idle_ms: int
    """For how long it had had no message."""

    def text(self) -> str:
        idle = self.idle_ms // 1000
        return f"{self.queue} deleted, after {idle} s without a message: no consumer gets it"


class Delayed(Step, frozen=True, kw_only=True, gc=False):
    """The message waits for its delay level to end."""

    level: int
    due_at_ms: int
    """When the delay ends, in the cluster's wall time."""
    topic: str
    """The topic to which the message then goes."""

    def text(self) -> str:
        due = clock_text(self.due_at_ms)
        return f"delayed for {self.topic} at level {self.level} until {due}"


class DelayEnded(Step, frozen=True, kw_only=True, gc=False):
    """The delay has ended: the message is in its real topic and queue."""

    topic: str
    queue_id: int
    offset: int

    def text(self) -> str:
        return f"delay over, in {self.topic} {self.node}/{self.queue_id}@{self.offset}"


class HandedOver(Step, frozen=True, kw_only=True, gc=False):
    """A slave that acts for its master has sent the message to another master."""

    topic: str
    broker_name: str
    queue_id: int
    offset: int

    def text(self) -> str:
        place = f"{self.broker_name}/{self.queue_id}@{self.offset}"
        return f"sent on by {self.node} for its master, in {self.topic} {place}"


class Discarded(Step, frozen=True, kw_only=True, gc=False):
    """The broker discarded the message: a half message that was delayed, or never decided."""

    why: str

    def text(self) -> str:
        return f"discarded: {self.why}"


class Delivered(Step, frozen=True, kw_only=True, gc=False):
    """A pull answer with the message left for a consumer of ``group``."""

    times: int
    """Counts the deliveries to this group from 1, retries included."""
    group: str
    client_id: str
    """The consumer's id; "" if it sent no heartbeat."""
    peer: str
    """The consumer's address."""

    def text(self) -> str:
        client = _client(self.client_id, self.peer)
        return f"delivered {ordinal(self.times)} time to {self.group}@{client}"


class Popped(Delivered, frozen=True, kw_only=True, gc=False):
    """A pop answer with the message left for a consumer: others do not get it until a time."""

    invisible_until_ms: int
    """In the cluster's wall time. If it is not acknowledged until then, it comes again."""
    in_order: bool
    attempt_id: str | None = None
    same_attempt: bool = False
    """Whether it was popped before for this attempt: the client has not got that answer."""

    def text(self) -> str:
        client = _client(self.client_id, self.peer)
        order = " in order" if self.in_order else ""
        if self.same_attempt:
            order += f" again for attempt {self.attempt_id}"
        until = clock_text(self.invisible_until_ms)
        return (
            f"popped{order} {ordinal(self.times)} time by {self.group}@{client},"
            f" invisible until {until}"
        )


class Dropped(Step, frozen=True, kw_only=True, gc=False):
    """An answer with the message left for a consumer of ``group``, which drops it: its group does
    not subscribe to the message's tag. The broker compares hashes only."""

    group: str
    client_id: str
    """The consumer's id; "" if it sent no heartbeat."""
    peer: str
    expression: str
    """What the group subscribes to."""
    tag: str
    """The message's; "" for a message without."""
    same_as: str
    """The subscribed tag with the same hash; "" if there is none."""
    by_front: bool = False
    """Whether the gRPC front drops it, and acknowledges it for its client."""

    def text(self) -> str:
        return (
            f"delivered to {self.group}@{_client(self.client_id, self.peer)},"
            f" {lacks_tag(self.expression, self.tag, self.same_as)}:"
            f" the {'front' if self.by_front else 'client'} drops it"
        )


class PassedOver(Step, frozen=True, kw_only=True, gc=False):
    """``group`` committed an offset that is past the message, and has not received it."""

    group: str
    client_id: str
    """The consumer that committed; "" if it is unknown."""
    offset: int
    """The committed offset: the next one to consume."""
    expression: str | None = None
    """The filter of the group if that did not match, as the group says it; None for others."""
    dropped: bool = False
    """Whether an answer had it, and its client dropped it."""
    by_reset: bool = False
    """Whether an operator had reset the queue to this offset."""

    def text(self) -> str:
        past = f"passed over by the offset {self.offset}"
        if self.expression is not None:
            filters = f"its filter {self.expression!r} does not match"
            return f"not delivered to {self.group}: {filters}, {past}"
        by = f" committed by {self.client_id}" if self.client_id else ""
        by += RESET if self.by_reset else ""
        return f"not {'consumed by' if self.dropped else 'delivered to'} {self.group}: {past}{by}"


class PopAcknowledged(Step, frozen=True, kw_only=True, gc=False):
    """A consumer acknowledged the message that it had popped."""

    group: str
    client_id: str
    """The consumer's id; "" if it sent no heartbeat."""
    peer: str
    too_late: bool
    """Whether the message had been revived: the group gets it again."""
    has_effect: bool = True
    """Whether the message was out for the handle of the acknowledgement, and no longer is."""
    why_not: str = ""
    """Why it has no effect, as a clause."""

    def text(self) -> str:
        by = f"{self.group}@{_client(self.client_id, self.peer)}"
        if self.has_effect:
            return f"acknowledged by {by}"
        if self.too_late:
            return f"acknowledged by {by} too late: it had been revived"
        return f"acknowledged by {by} with {NO_LONGER_COUNTS} ({self.why_not}): no effect"


class InvisibleTimeChanged(Step, frozen=True, kw_only=True, gc=False):
    """A consumer changed how long the message that it had popped stays invisible."""

    group: str
    client_id: str
    """The consumer's id; "" if it sent no heartbeat."""
    peer: str
    invisible_until_ms: int
    """In the cluster's wall time."""
    by_front: str = ""
    """Why the gRPC front did it for the consumer, such as ``renewed``; "" if the consumer did."""
    has_effect: bool = True
    """Whether the message was out for the handle of the request."""
    why_not: str = ""
    """Why it has no effect, as a clause."""
    once_more: bool = False
    """Whether it has no effect, and the message comes once more at the asked time."""

    def text(self) -> str:
        until = clock_text(self.invisible_until_ms)
        if not self.has_effect:
            consumer = f"{self.group}@{_client(self.client_id, self.peer)}"
            asked = f"change of its invisible time by {consumer} with {NO_LONGER_COUNTS}"
            effect = f"it comes once more at {until}" if self.once_more else "no effect"
            return f"{asked} ({self.why_not}): {effect}"
        if self.by_front:
            consumer = f"{self.group}@{self.client_id or self.peer}"
            how = f"by the front, {self.by_front}"
            return f"invisible time changed for {consumer} {how}: until {until}"
        client = _client(self.client_id, self.peer)
        return f"invisible time changed by {self.group}@{client}: until {until}"


class Revived(Step, frozen=True, kw_only=True, gc=False):
    """The message was not acknowledged in time: it is in the retry topic of ``group``."""

    group: str
    attempt: int
    """The number of the next attempt: the first retry is attempt 2."""
    retry_topic: str
    offset: int

    def text(self) -> str:
        return (
            f"revived for {self.group}, attempt {self.attempt},"
            f" in {self.retry_topic} {self.node}@{self.offset}"
        )


class TimerSet(Step, frozen=True, kw_only=True, gc=False):
    """The message waits for its time, then goes to ``topic``."""

    topic: str
    due_at_ms: int
    """In the cluster's wall time."""

    def text(self) -> str:
        return f"timer for {self.topic} until {clock_text(self.due_at_ms)}"


class TimerRolled(Step, frozen=True, kw_only=True, gc=False):
    """The message was stored in the timer topic again, because its time is far away."""

    times: int
    """Counts the rolls from 1."""

    def text(self) -> str:
        return f"timer rolled {ordinal(self.times)} time"


class TimerEnded(Step, frozen=True, kw_only=True, gc=False):
    """The time has come: the message is in its real topic and queue."""

    topic: str
    queue_id: int
    offset: int

    def text(self) -> str:
        return f"timer over, delivered to {self.topic} {self.node}/{self.queue_id}@{self.offset}"


class Recalled(Step, frozen=True, kw_only=True, gc=False):
    """The message was recalled before its time: no consumer gets it."""

    def text(self) -> str:
        return "recalled"


class Withheld(Step, frozen=True, kw_only=True, gc=False):
    """A fault held back a pull answer with the message. If the answer leaves later, a `Delivered`
    follows."""

    group: str
    client_id: str
    """The consumer's id; "" if it sent no heartbeat."""
    peer: str
    """The consumer's address."""

    def text(self) -> str:
        return f"answer with it withheld from {self.group}@{_client(self.client_id, self.peer)}"


class Acknowledged(Step, frozen=True, kw_only=True, gc=False):
    """``group`` committed an offset that is past the message."""

    group: str
    client_id: str
    """The consumer that committed; "" if it is unknown."""
    offset: int
    """The committed offset: the next one to consume."""

    def text(self) -> str:
        by = f" by {self.client_id}" if self.client_id else ""
        return f"acked by {self.group}: offset {self.offset} committed{by}"


class CommitIgnored(Step, frozen=True, kw_only=True, gc=False):
    """``group`` committed an offset that is past the message, and the broker did not store it."""

    group: str
    client_id: str
    """The consumer that committed; "" if it is unknown."""
    offset: int

    def text(self) -> str:
        by = f"{self.group}@{self.client_id}" if self.client_id else self.group
        return f"commit of offset {self.offset} by {by} has no effect: {RESET_PENDING}"


class SetBack(Step, frozen=True, kw_only=True, gc=False):
    """``group`` had committed past the message, then the offset was smaller again, by a commit or
    because commits were lost: the group gets the message again."""

    group: str
    client_id: str
    """The consumer that committed; "" if it is unknown."""
    offset: int
    lost_by: str = ""
    """How the commits were lost, a clause; "" if the smaller offset was committed."""
    by_reset: bool = False
    """Whether an operator had reset the queue to this offset."""

    def text(self) -> str:
        again = f"to be consumed again by {self.group}"
        if self.lost_by:
            return f"{again}: offset back at {self.offset}, {self.lost_by}"
        by = f" by {self.client_id}" if self.client_id else ""
        return f"{again}: offset set back to {self.offset}{by}{RESET if self.by_reset else ''}"


class OrderLost(Step, frozen=True, kw_only=True, gc=False):
    """``group`` had popped the message in order, and a kill lost that: it can be popped again."""

    group: str

    def text(self) -> str:
        return (
            f"to be popped again by {self.group} before its time: the kill of {self.node} lost what"
            " was popped in order since it last wrote consumerOrderInfo.json"
        )


class SentBack(Step, frozen=True, kw_only=True, gc=False):
    """A consumer sent the message back as failed: the group gets it again after a delay."""

    group: str
    level: int
    """The delay level of the retry."""
    due_at_ms: int
    """When the delay ends, in the cluster's wall time."""
    reconsume_times: int
    """Counts the retries from 1."""

    def text(self) -> str:
        due = clock_text(self.due_at_ms)
        return (
            f"sent back by {self.group}: retry {self.reconsume_times},"
            f" delayed at level {self.level} until {due}"
        )


class DeadLettered(Step, frozen=True, kw_only=True, gc=False):
    """The message used up its retries and went to the dead letter queue of ``group``."""

    group: str
    reconsume_times: int
    from_client: bool = False
    """Whether the client sent it as a message of its own, as one does that consumes in order."""

    def text(self) -> str:
        if self.from_client:
            tries = f"after its client's own tries (reconsumeTimes {self.reconsume_times})"
            return f"dead letter of {self.group} {tries}"
        retries = self.reconsume_times - 1
        return (
            f"dead letter of {self.group} after {retries} {'retry' if retries == 1 else 'retries'}"
        )


class HalfStored(Step, frozen=True, kw_only=True, gc=False):
    """The message is the half message of a transaction for ``topic``: no consumer gets it yet."""

    topic: str

    def text(self) -> str:
        return f"half message for {self.topic}, not committed yet"


class Checked(Step, frozen=True, kw_only=True, gc=False):
    """The broker checked the transaction: it asked a producer of ``group`` for its decision."""

    times: int
    """Counts the checks of this message from 1."""
    group: str
    peer: str | None
    """The producer's address; None if no producer of the group was connected."""
    client_id: str = ""
    """The id of a gRPC producer, which the front asked."""

    def text(self) -> str:
        asked = f"no producer of {self.group} is connected"
        if self.peer:
            asked = f"asked {self.client_id or self.peer}"
        return f"checked {ordinal(self.times)} time, {asked}"


class Committed(Step, frozen=True, kw_only=True, gc=False):
    """The transaction was committed: the message is in its topic."""

    topic: str
    from_check: bool
    """Whether the producer decided in answer to a check."""

    def text(self) -> str:
        return f"committed to {self.topic}{' when asked' if self.from_check else ''}"


class RolledBack(Step, frozen=True, kw_only=True, gc=False):
    """The transaction was rolled back: no consumer gets the message."""

    from_check: bool
    """Whether the producer decided in answer to a check."""
    why_not: str = ""
    """Why it has no effect, as a clause; "" if it has one. The broker answers SUCCESS anyway."""

    def text(self) -> str:
        asked = " when asked" if self.from_check else ""
        return f"rolled back{asked}{f', without effect: {self.why_not}' if self.why_not else ''}"


def _client(client_id: str, peer: str) -> str:
    return f"{client_id} ({peer})" if client_id else peer


def lacks_tag(expression: str, tag: str, same_as: str) -> str:
    """Return that a subscription does not have a tag, as a relative clause about its group."""
    same = f" (same hash as {same_as!r})" if same_as and same_as != tag else ""
    what = f"the tag {tag!r}" if tag else "messages without tag"
    return f"whose subscription {expression!r} does not have {what}{same}"


def ordinal(number: int) -> str:
    """Return a number as 1st, 2nd, 3rd, 4th, … 11th to 13th end in "th", unlike 21st."""
    ending = (
        "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"
