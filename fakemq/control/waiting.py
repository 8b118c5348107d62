"""Endpoints that wait until conditions hold, for tests in another process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Annotated

import msgspec

from fakemq.clock.durations import span_ms
from fakemq.control.control import Control, wait_ms
from fakemq.control.endpoints import RequestBody, endpoint
from fakemq.control.journal import Wanted, text_of
from fakemq.control.results import Duration, Refusal
from fakemq.control.topics import Offset
from fakemq.core.inspection import has_topic
from fakemq.core.near_names import check_group, check_topic
from fakemq.events.core import Delivered
from fakemq.handles.cluster import likely
from fakemq.handles.patience import PeerPatience
from fakemq.journal.cursor import Cursor
from fakemq.journal.journal import Journal
from fakemq.journal.wakes import OTHERS, Key
from fakemq.protocol.bodies.body import Long

Count = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class Lag(RequestBody):
    """A group's lag in a topic is at most this number of messages."""

    group: str
    topic: str
    at_most: Offset = 0


class Stored(RequestBody):
    """A topic holds at least this number of messages."""

    topic: str
    at_least: Count = 1


class DeliveredTimes(RequestBody):
    """At least this number of a topic's messages left in pull answers, to one group or to all."""

    topic: str
    group: str | None = None
    at_least: Count = 1


class Joined(RequestBody):
    """A group has at least this number of members."""

    group: str
    at_least: Count = 1


class Happened(RequestBody):
    """The journal has at least this number of events of a kind with these field values."""

    kind: str | None = None
    fields: dict[str, str | Long | bool | None] = msgspec.field(default_factory=dict)
    since: Offset = 0
    epoch: Offset | None = None
    """The epoch of the answer that ``since`` is from; after a reset, ``since`` then means 0."""
    at_least: Count = 1


class Conditions(RequestBody):
    """The conditions: all that are given must hold at the same moment."""

    lag: Lag | None = None
    messages: Stored | None = None
    delivered: DeliveredTimes | None = None
    members: Joined | None = None
    journal: Happened | None = None


class WaitFor(Conditions):
    """The conditions to wait for, and how long."""

    timeout: Duration = "5s"
    """Real time, independent of the cluster's clock."""


class RunUntil(Conditions, kw_only=True):
    """The conditions until which to advance the cluster's time, and how far."""

    at_most: Duration
    """A duration of the cluster's clock."""
    outside_peers: bool = False
    """Let the liveness of clients outside the process age as well."""


class Seen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The number that was counted for each given condition."""

    lag: int | None = None
    messages: int | None = None
    delivered: int | None = None
    members: int | None = None
    journal: int | None = None


_CONDITIONS = Seen.__struct_fields__


class _Count:
    """Counts matching events; it reads each entry of the journal once."""

    def __init__(self, wanted: Wanted, journal: Journal, read: Cursor) -> None:
        self._wanted, self._journal, self._read = wanted, journal, read
        self._found = 0

    def now(self) -> int:
        """Return the number of events up to now."""
        seq = self._read.seq
        if not seq:  # a reset may have started the journal again
            self._found = 0
        for entry in self._wanted.after(self._journal, seq):
            event = entry.event
            # One Delivered event stands for all messages of a pull answer.
            self._found += len(event.offsets) if isinstance(event, Delivered) else 1
        self._read.seq = self._journal.last_seq
        return self._found


class _Look:
    """Checks the conditions of one request; called again each time the journal has grown."""

    def __init__(self, control: Control, body: Conditions) -> None:
        self._control, self._body = control, body
        self.seen = Seen()
        self.keys = tuple(_keys(body))
        """What to wait for: `seen` changes with no other event."""
        if not any(getattr(body, name) for name in _CONDITIONS):
            raise Refusal(400, f"nothing to wait for; expected {', '.join(_CONDITIONS)}")
        self._counted = _counts(control.core.journal, body.delivered, body.journal)

    def __call__(self) -> bool:
        """Return whether all conditions hold now."""
        mq, body = self._control.mq, self._body
        lag, stored, members = body.lag, body.messages, body.members
        counts = {name: count.now() for name, count in self._counted.items()}
        if body.delivered is not None and not counts["delivered"]:
            _check_names(self._control, body.delivered)
        self.seen = Seen(
            lag=None if lag is None else _lag(self._control, lag),
            messages=None if stored is None else _stored(self._control, stored.topic),
            members=None if members is None else len(mq.group(members.group).members()),
            **counts,
        )
        return not any(_falls_short(body, self.seen))

    async def timed_out(self, after: str) -> Refusal:
        """Return the refusal for the end of the time: what did not hold, and the likely causes."""
        control, text = self._control, f"not after {after}: {self._missing()}"
        lag, delivered, causes = self._body.lag, self._body.delivered, list[str]()
        if lag is not None and self.seen.lag:
            of = control.mq.diagnosing(lag.topic, lag.group)
            causes = await control.server.carry_out(of)
        if delivered is not None and (self.seen.delivered or 0) < delivered.at_least:
            of = control.mq.diagnosing(delivered.topic, delivered.group)
            causes = [*dict.fromkeys([*causes, *await control.server.carry_out(of)])]
        elif not causes:
            causes = await control.server.carry_out(control.mq.diagnosing(None, None))
        if causes:
            text = f"{text}; " + "\n".join(likely(causes))
        return Refusal(408, text, diagnosis=causes, journal=control.tail())

    def stopped(self) -> Refusal:
        """Return the refusal for a cluster that stops, with the conditions that did not hold."""
        return Refusal(409, f"the cluster is being stopped; by now: {self._missing()}")

    def _missing(self) -> str:
        return ", ".join(_falls_short(self._body, self.seen))


@endpoint("POST", "/v1/wait-for", waits=True)
async def wait_for(control: Control, body: WaitFor) -> Seen:
    """Wait until all given conditions hold; 408 on timeout.

    The answer 408 has the likely causes in `diagnosis`, and the journal's end in `journal`. The
    topic and group of a lag or of deliveries may come later; names that are almost like existing
    ones are 404.
    """
    look = _Look(control, body)
    if await control.wait_until(look, body.timeout, look.keys):
        return look.seen
    if control.closing:
        raise look.stopped()
    raise await look.timed_out(f"{wait_ms(body.timeout)} ms of real time")


@endpoint("POST", "/v1/run-until", waits=True)
async def run_until(control: Control, body: RunUntil) -> Seen:
    """Advance time from deadline to deadline until all given conditions hold; 408 if they do not.

    After each step, peers outside the process get up to 50 ms of real time to react, after those of
    the second half up to 500 ms.
    """
    core, look = control.core, _Look(control, body)
    at_most_ms = span_ms(body.at_most, name="at_most")
    until_ms = core.clock.elapsed_ms() + at_most_ms
    patience, left_ms = PeerPatience(core, at_most_ms), at_most_ms
    while not await control.wait_until(look, patience.next_ms(left_ms) / 1000, look.keys):
        if control.closing:
            raise look.stopped()
        left_ms = until_ms - core.clock.elapsed_ms()
        if left_ms <= 0:
            raise await look.timed_out(f"{at_most_ms} ms of the cluster's time")
        ms = core.next_step_ms(left_ms, outside_peers=body.outside_peers)
        await control.move(partial(core.movement, ms, outside_peers=body.outside_peers))
        await asyncio.sleep(0)  # lets the loop serve other requests between two steps
        left_ms = until_ms - core.clock.elapsed_ms()
    return look.seen


def _counts(
    journal: Journal, delivered: DeliveredTimes | None, happened: Happened | None
) -> dict[str, _Count]:
    """Return what counts the events of each condition."""
    found: dict[str, _Count] = {}
    if delivered is not None:
        fields = {"topic": delivered.topic}
        if delivered.group is not None:
            fields["group"] = delivered.group
        found["delivered"] = _Count(Wanted("Delivered", fields), journal, Cursor(journal))
    if happened is not None:
        fields = {name: text_of(value) for name, value in happened.fields.items()}
        read = Cursor(journal, happened.since, happened.epoch)
        found["journal"] = _Count(Wanted(happened.kind, fields), journal, read)
    return found


def _keys(body: Conditions) -> Iterator[Key]:
    """Yield the keys of the events that can change a count of these conditions."""
    yield OTHERS
    for of_topic in (body.lag, body.messages, body.delivered):
        if of_topic is not None:
            yield "topic", of_topic.topic
    if body.members is not None:
        yield "group", body.members.group
    if body.journal is not None:
        fields = {name: text_of(value) for name, value in body.journal.fields.items()}
        yield Wanted(body.journal.kind, fields).key


def _check_names(control: Control, delivered: DeliveredTimes) -> None:
    """Raise LookupError for a topic or group that is not there and is almost like one that is."""
    check_topic(control.core, delivered.topic)
    if delivered.group is not None:
        check_group(control.core, delivered.group)


def _lag(control: Control, lag: Lag) -> int | None:
    """Return a group's lag; None while the topic does not exist, as then the condition fails.

    Raise LookupError for a name that is almost like an existing one.
    """
    found = control.mq.group(lag.group).lag(lag.topic)
    return found if has_topic(control.core, lag.topic) else None


def _stored(control: Control, topic: str) -> int:
    return sum(queue.max_offset - queue.min_offset for queue in control.mq.queues(topic))


def _falls_short(body: Conditions, seen: Seen) -> Iterator[str]:
    """Return a text for each condition that does not hold yet."""
    for name in _CONDITIONS:
        wanted, now = getattr(body, name), getattr(seen, name)
        if isinstance(wanted, Lag):
            if now is None:
                yield f"no topic {wanted.topic!r} yet"
            elif now > wanted.at_most:
                whose = f"of {wanted.group} in {wanted.topic}"
                yield f"{name} {whose} is {now}, wanted at most {wanted.at_most}"
        elif wanted is not None and now < wanted.at_least:
            yield f"{name} is {now}, wanted at least {wanted.at_least}"
