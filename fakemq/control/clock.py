"""Endpoints of the cluster's clock: read it, freeze it, advance it, hold it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

import msgspec

from fakemq.clock.clock import MAX_RATE, MIN_RATE
from fakemq.clock.durations import duration_ms, instant_ms
from fakemq.control.control import Control
from fakemq.control.endpoints import RequestBody, endpoint
from fakemq.control.results import Done, Duration, Refusal
from fakemq.core.movement import Movement
from fakemq.core.views import Deadline


class ClockState(msgspec.Struct, frozen=True, kw_only=True):
    now_ms: int
    """The cluster's wall time, in milliseconds since the epoch."""
    now: str
    """The same as ISO 8601, in UTC."""
    frozen: bool
    rate: float
    """The factor to real time while the clock is not frozen."""
    held: list[str]
    """The reasons of all holds, which keep the clock from moving by itself."""
    holds: dict[int, str]
    """The holds that were made by this port: number of the hold → its reason."""


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    now_ms: int
    count: int
    """How many deadlines fired."""
    fired: list[Deadline]
    """The deadlines that fired, in order; the last 10,000 if there are more."""


class Advance(RequestBody):
    duration: Duration
    outside_peers: bool = False
    """Let the liveness of clients outside the process age as well."""


class AdvanceTo(RequestBody):
    instant: str
    """ISO 8601, in UTC unless it has an offset."""
    outside_peers: bool = False


class AdvanceToNext(RequestBody):
    kind: str
    """Such as ``delay_level`` or ``txn_check``; ``GET /v1/clock/timers`` shows the kinds."""
    outside_peers: bool = False


class Rate(RequestBody):
    rate: Annotated[
        float, msgspec.Meta(extra_json_schema={"minimum": MIN_RATE, "maximum": MAX_RATE})
    ]
    """The factor to real time; 1 is real time."""


class Hold(RequestBody):
    why: str


class Held(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    why: str


def clock_state(control: Control) -> ClockState:
    """Return the clock's time, rate and holds."""
    now_ms = control.mq.clock.now_ms()
    return ClockState(
        now_ms=now_ms,
        now=datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="milliseconds"),
        frozen=control.mq.clock.frozen,
        rate=control.mq.clock.rate,
        held=control.mq.clock.holds,
        holds={number: hold.why for number, hold in control.holds.items()},
    )


@endpoint("GET", "/v1/clock")
def get_clock(control: Control) -> ClockState:
    """Return the cluster's time, and whether the clock runs."""
    return clock_state(control)


@endpoint("GET", "/v1/clock/timers")
def get_timers(control: Control) -> list[Deadline]:
    """Return every pending deadline, soonest first."""
    return control.mq.clock.timers()


@endpoint("POST", "/v1/clock/freeze")
def freeze_clock(control: Control) -> ClockState:
    """Stop the clock; peers outside the process keep real time."""
    control.mq.clock.freeze()
    return clock_state(control)


@endpoint("POST", "/v1/clock/unfreeze")
def unfreeze_clock(control: Control) -> ClockState:
    """Let the clock run from its present time."""
    control.mq.clock.unfreeze()
    return clock_state(control)


@endpoint("POST", "/v1/clock/rate")
def set_clock_rate(control: Control, body: Rate) -> ClockState:
    """Set the factor to real time at which the clock runs."""
    control.mq.clock.rate = body.rate
    return clock_state(control)


@endpoint("POST", "/v1/clock/advance", waits=True)
async def advance_clock(control: Control, body: Advance) -> Moved:
    """Advance the clock by a duration and fire each deadline on the way, in order.

    Other requests are answered meanwhile. The advance ends early, with 409, by
    ``DELETE /v1/clock/advance``, and when its client disconnects.
    """
    ms, outside = duration_ms(body.duration, name="advance"), body.outside_peers
    return await _moved(control, lambda: control.core.movement(ms, outside_peers=outside))


@endpoint("POST", "/v1/clock/advance_to", waits=True)
async def advance_clock_to(control: Control, body: AdvanceTo) -> Moved:
    """Advance the clock to a point of time, as ``advance``; 400 for the past."""
    at_ms, outside = instant_ms(body.instant, name="advance_to"), body.outside_peers
    return await _moved(control, lambda: control.core.movement_to(at_ms, outside_peers=outside))


@endpoint("POST", "/v1/clock/advance_to_next", waits=True)
async def advance_clock_to_next(control: Control, body: AdvanceToNext) -> Moved:
    """Advance the clock to the next deadline of a kind, as ``advance``; 404 names the kinds."""
    kind, outside = body.kind, body.outside_peers
    return await _moved(control, lambda: control.core.movement_to_next(kind, outside_peers=outside))


@endpoint("DELETE", "/v1/clock/advance")
def end_advance(control: Control) -> ClockState:
    """End the advance that another request has begun; time keeps the value reached by then."""
    if control.movement is None:
        raise Refusal(404, "no advance is under way")
    control.movement.why_ended = "another request has ended the advance"
    return clock_state(control)


async def _moved(control: Control, begin: Callable[[], Movement]) -> Moved:
    movement = await control.move(begin)
    return Moved(
        now_ms=control.mq.clock.now_ms(), count=movement.fired_count, fired=[*movement.fired]
    )


@endpoint("POST", "/v1/clock/holds")
def hold_clock(control: Control, body: Hold) -> Held:
    """Keep the clock from moving by itself until the hold is released."""
    number = control.holds.keep(control.mq.clock.hold(body.why))
    return Held(id=number, why=body.why)


@endpoint("DELETE", "/v1/clock/holds/{hold}")
def release_clock(control: Control, hold: str) -> Done:
    """Release a hold."""
    number, held = control.holds.of(hold)
    held.release()
    del control.holds[number]
    return Done()
