"""Endpoints of assertions: 200 if one holds, else 412 with what was seen and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec

from fakemq.control.control import Control
from fakemq.control.endpoints import RequestBody, endpoint
from fakemq.control.results import Done, Refusal
from fakemq.control.topics import Base64

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Sent(RequestBody):
    topic: str
    count: Count | None = None
    """The number of messages; by default at least one."""
    bodies: list[str | Base64] | None = None
    """Their bodies, in any order."""
    keys: str | None = None
    tags: str | None = None


class Consumed(RequestBody):
    topic: str
    group: str
    count: Count | None = None
    """The number of consumed messages; by default all that are stored."""
    bodies: list[str | Base64] | None = None


class OfGroup(RequestBody):
    topic: str
    group: str


class InDlq(RequestBody):
    group: str
    count: Count | None = None
    """The number of dead letters; by default at least one."""
    bodies: list[str | Base64] | None = None


@endpoint("POST", "/v1/assert/sent", waits=True)
async def assert_sent(control: Control, body: Sent) -> Done:
    """Assert that a topic has these messages; a count of 0 asserts that it has none."""
    return await _held(
        control,
        lambda: control.mq.assert_sent(
            body.topic, body.count, bodies=_bytes(body.bodies), keys=body.keys, tags=body.tags
        ),
    )


@endpoint("POST", "/v1/assert/consumed", waits=True)
async def assert_consumed(control: Control, body: Consumed) -> Done:
    """Assert that a group got and acknowledged the messages of a topic."""
    return await _held(
        control,
        lambda: control.mq.assert_consumed(
            body.topic, body.group, body.count, bodies=_bytes(body.bodies)
        ),
    )


@endpoint("POST", "/v1/assert/delivered-once", waits=True)
async def assert_delivered_once(control: Control, body: OfGroup) -> Done:
    """Assert that a group got every message of a topic exactly once, and there is at least one."""
    return await _held(control, lambda: control.mq.assert_delivered_once(body.topic, body.group))


@endpoint("POST", "/v1/assert/not-redelivered", waits=True)
async def assert_not_redelivered(control: Control, body: OfGroup) -> Done:
    """Assert that a group got no message of a topic twice, retries included."""
    return await _held(control, lambda: control.mq.assert_not_redelivered(body.topic, body.group))


@endpoint("POST", "/v1/assert/in-dlq", waits=True)
async def assert_in_dlq(control: Control, body: InDlq) -> Done:
    """Assert that a group has these dead letters."""
    return await _held(
        control,
        lambda: control.mq.assert_in_dlq(body.group, body.count, bodies=_bytes(body.bodies)),
    )


def _bytes(bodies: list[str | Base64] | None) -> list[bytes | str] | None:
    if bodies is None:
        return None
    return [one if isinstance(one, str) else one.base64 for one in bodies]


async def _held(control: Control, assertion: Callable[[], None]) -> Done:
    """Return Done if an assertion holds; Refusal (412) with the text of its failure if not."""
    why_not = await control.server.carry_out(control.mq.assertion(assertion))
    if why_not:
        raise Refusal(412, why_not)
    return Done()
