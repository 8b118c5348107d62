"""Waiting, in real time, for what a test in another process wants to see."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated

import msgspec

from fakemq.clock.durations import span_ms
from fakemq.control.control import Control, wait_ms
from fakemq.control.endpoints import Body, endpoint
from fakemq.control.journal import Wanted, text_of
from fakemq.control.results import Duration, Refusal
from fakemq.control.topics import Offset
from fakemq.events.core import Delivered
from fakemq.handles.cluster import PATIENCE_MS

Count = Annotated[int, msgspec.Meta(ge=1)]


class Lag(Body):
    """A group is at most so far behind in a topic."""

    group: str
    topic: str
    at_most: Offset = 0


class Stored(Body):
    """A topic holds so many messages."""

    topic: str
    at_least: Count = 1


class DeliveredTimes(Body):
    """So many of a topic's messages were put into pull answers, for one group or for all."""

    topic: str
    group: str | None = None
    at_least: Count = 1


class Joined(Body):
    """A group has so many members."""

    group: str
    at_least: Count = 1


class Happened(Body):
    """The journal has so many events of a kind with these values in their fields."""

    kind: str | None = None
    fields: dict[str, str | int | bool | None] = msgspec.field(default_factory=dict)
    since: Offset = 0
    at_least: Count = 1


class Conditions(Body):
    """What is to be so: all that is given, at one moment."""

    lag: Lag | None = None
    messages: Stored | None = None
    delivered: DeliveredTimes | None = None
    members: Joined | None = None
    journal: Happened | None = None


class WaitFor(Conditions):
    """What is waited for."""

    timeout: Duration = "5s"
    """Real time, whatever the cluster's clock does."""


class RunUntil(Conditions, kw_only=True):
    """What the cluster's time is to bring."""

    at_most: Duration
    """Time of the cluster."""
    outside_peers: bool = False
    """Let the liveness of clients outside the process age as well."""


class Seen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was counted of that which was asked for."""

    lag: int | None = None
    messages: int | None = None
    delivered: int | None = None
    members: int | None = None
    journal: int | None = None


_CONDITIONS = Seen.__struct_fields__


class _Count:
    """How many events there have been, reading every entry of the journal once."""

    def __init__(self, control: Control, wanted: Wanted, since: int) -> None:
        self._journal = control.core.journal
        self._wanted = wanted
        self._seq = since
        self._found = 0

    def now(self) -> int:
        """How many there are by now."""
        if self._journal.last_seq < self._seq:  # it began anew
            self._found = 0
        for entry in self._wanted.after(self._journal, self._seq):
            event = entry.event
            # One says of several messages that they were put into an answer.
            self._found += len(event.offsets) if isinstance(event, Delivered) else 1
        self._seq = self._journal.last_seq
        return self._found


class _Look:
    """Looks at what is asked for, again and again."""

    def __init__(self, control: Control, body: Conditions) -> None:
        self._control, self._body = control, body
        self.seen = Seen()
        if not any(getattr(body, name) for name in _CONDITIONS):
            raise Refusal(400, f"nothing to wait for; expected {', '.join(_CONDITIONS)}")
        self._counted = {
            name: _Count(control, wanted, since)
            for name, (wanted, since) in _events(body.delivered, body.journal).items()
        }

    def __call__(self) -> bool:
        """Whether all conditions hold now."""
        mq, body = self._control.mq, self._body
        lag, stored, members = body.lag, body.messages, body.members
        self.seen = Seen(
            lag=None if lag is None else _lag(self._control, lag),
            messages=None if stored is None else _stored(self._control, stored.topic),
            members=None if members is None else len(mq.group(members.group).members()),
            **{name: count.now() for name, count in self._counted.items()},
        )
        return not any(_falls_short(body, self.seen))

    def in_vain(self, after: str) -> Refusal:
        """The refusal when the time is over, with what was missing last."""
        return Refusal(408, f"not after {after}: {self._missing()}", self._control.tail())

    def given_up(self) -> Refusal:
        """The refusal when the cluster is stopped, with what was missing last."""
        return Refusal(409, f"the cluster is being stopped; by now: {self._missing()}")

    def _missing(self) -> str:
        return ", ".join(_falls_short(self._body, self.seen))


@endpoint("POST", "/v1/wait-for", waits=True)
async def wait_for(control: Control, body: WaitFor) -> Seen:
    """Wait until all that is given is so; 408, with the journal's end, if it is not in time."""
    look = _Look(control, body)
    if await control.wait_until(look, body.timeout):
        return look.seen
    if control.closing:
        raise look.given_up()
    raise look.in_vain(f"{wait_ms(body.timeout)} ms of real time")


@endpoint("POST", "/v1/run-until", waits=True)
async def run_until(control: Control, body: RunUntil) -> Seen:
    """Move time from deadline to deadline until all that is given is so; 408 if it never is.

    After each step outside peers get some real time to react.
    """
    core, look = control.core, _Look(control, body)
    at_most_ms = span_ms(body.at_most, name="at_most")
    until_ms = core.clock.elapsed_ms() + at_most_ms
    patience_ms = PATIENCE_MS if core.network.links.reach_outside() else 0
    while not await control.wait_until(look, patience_ms / 1000):
        if control.closing:
            raise look.given_up()
        left_ms = until_ms - core.clock.elapsed_ms()
        if left_ms <= 0:
            raise look.in_vain(f"{at_most_ms} ms of the cluster's time")
        core.step(left_ms, outside_peers=body.outside_peers)
        await asyncio.sleep(0)  # others have their turn between two steps
        patience_ms = PATIENCE_MS if core.network.links.reach_outside() else 0
    return look.seen


def _events(
    delivered: DeliveredTimes | None, happened: Happened | None
) -> dict[str, tuple[Wanted, int]]:
    """Which events count for which condition, and behind which number."""
    found: dict[str, tuple[Wanted, int]] = {}
    if delivered is not None:
        fields = {"topic": delivered.topic}
        if delivered.group is not None:
            fields["group"] = delivered.group
        found["delivered"] = Wanted("Delivered", fields), 0
    if happened is not None:
        fields = {name: text_of(value) for name, value in happened.fields.items()}
        found["journal"] = Wanted(happened.kind, fields), happened.since
    return found


def _lag(control: Control, lag: Lag) -> int | None:
    """None while there is no such topic: no group has caught up with it."""
    mq = control.mq
    return mq.group(lag.group).lag(lag.topic) if lag.topic in mq.topics() else None


def _stored(control: Control, topic: str) -> int:
    return sum(queue.max_offset - queue.min_offset for queue in control.mq.queues(topic))


def _falls_short(body: Conditions, seen: Seen) -> Iterator[str]:
    """What is not yet so, in words."""
    for name in _CONDITIONS:
        wanted, now = getattr(body, name), getattr(seen, name)
        if isinstance(wanted, Lag):
            if now is None:
                yield f"no topic {wanted.topic!r} yet"
            elif now > wanted.at_most:
                yield f"{name} is {now}, wanted at most {wanted.at_most}"
        elif wanted is not None and now < wanted.at_least:
            yield f"{name} is {now}, wanted at least {wanted.at_least}"
