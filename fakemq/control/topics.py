"""Endpoints of topics and their messages."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Annotated

import msgspec

from fakemq.biographies.steps import Stored
from fakemq.config.checked import DEFAULT_QUEUES, check_message_type
from fakemq.control.control import Control
from fakemq.control.endpoints import SEED_MAX_BYTES, Query, RequestBody, endpoint
from fakemq.control.results import Done, Refusal
from fakemq.core import changes, inspection
from fakemq.core.finding import find
from fakemq.core.near_names import check_topic
from fakemq.core.views import Delayed, Message, Queue
from fakemq.handles.messages import seeding
from fakemq.handles.values import message_of
from fakemq.protocol.bodies.body import Int

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps

Limit = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
Name = Annotated[str, msgspec.Meta(min_length=1)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class TopicState(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    queues: list[Queue]
    """Its queues at every broker that has the topic."""
    messages: int
    """The number of stored messages."""
    message_type: str
    """``NORMAL``, ``FIFO``, ``DELAY``, ``TRANSACTION``, …: what gRPC clients may send to it."""


class ChangeTopic(RequestBody):
    queues: Int | None = None
    """The number of read queues, and of write queues unless ``write_queues`` is given; 8 for a new
    topic."""
    write_queues: Int | None = None
    perm: str | None = None
    """``RW``, ``R``, ``W`` or the empty string."""
    message_type: str | None = None
    """``NORMAL``, ``FIFO``, ``DELAY``, ``TRANSACTION``, …; only a cluster of 5.5.0 has it."""


class ShownMessage(Message, frozen=True, kw_only=True):
    """A stored message; ``body`` is base64, ``text`` is the same as a string if it is UTF-8."""

    text: str | None
    born_at_ms: int
    """The old name of ``born_timestamp_ms``, for one release."""
    stored_at_ms: int
    """The old name of ``store_timestamp_ms``, for one release."""


class ShownDelayed(Delayed, frozen=True, kw_only=True, gc=False):
    """A message that waits for its delay level or time; ``text`` is its body if that is UTF-8."""

    text: str | None


class Page(Query):
    offset: Offset = 0
    """How many messages to skip at the beginning."""
    limit: Limit = 100


class Messages(msgspec.Struct, frozen=True, kw_only=True):
    total: int
    """The number of all messages; the shown ones begin at ``offset``."""
    offset: int
    messages: list[ShownMessage]


class Base64(RequestBody):
    base64: bytes


class Seed(RequestBody):
    bodies: list[str | Base64]
    """Each body is a text, or an object such as ``{"base64": "AAE="}``."""
    tags: str = ""
    keys: str = ""
    properties: dict[str, str] = msgspec.field(default_factory=dict)
    """Such as ``{"DELAY": "3"}``; a delayed message is in the topic only after its delay."""
    queue: Int | None = None
    """The queue's id; without it the messages go to all queues in turn."""


class OfTopic(Query):
    topic: Name | None = None


class Waiting(Query):
    topic: Name | None = None
    group: Name | None = None
    """The group that should have consumed them."""


class Biography(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that happened to a message, oldest first; docs/journal.md describes it."""

    name: str
    steps: list[str]


@endpoint("GET", "/v1/topics")
def get_topics(control: Control) -> list[str]:
    """Return the names of all topics, including RocketMQ's own."""
    return control.mq.topics()


@endpoint("GET", "/v1/topics/{topic}")
def get_topic(control: Control, topic: str) -> TopicState:
    """Return a topic's queues, and the number of its messages."""
    return _state(control, topic)


@endpoint("PUT", "/v1/topics/{topic}")
def put_topic(control: Control, topic: str, body: ChangeTopic) -> TopicState:
    """Create or change a topic at every running master.

    Clients learn of it with their next route request.
    """
    handle = control.mq.topic(topic)
    changes.check_queues(body.queues, body.write_queues)
    if body.perm is not None:
        changes.perm_of(body.perm)
    if body.message_type is not None:
        check_message_type(body.message_type, control.core.spec.reference)
    # All is checked: what is refused now creates nothing.
    there = topic in control.mq.topics()
    if not there:
        queues = DEFAULT_QUEUES if body.queues is None else body.queues
        control.mq.create_topic(topic, queues, message_type=body.message_type)
    if body.perm is not None:
        handle.set_perm(body.perm)
    if body.write_queues is not None or (there and body.queues is not None):
        read = len({queue.queue_id for queue in control.mq.queues(topic)})
        handle.set_queues(read if body.queues is None else body.queues, body.write_queues)
    if there and body.message_type is not None:
        handle.message_type = body.message_type
    return _state(control, topic)


@endpoint("DELETE", "/v1/topics/{topic}")
def delete_topic(control: Control, topic: str) -> Done:
    """Delete a topic at every broker; the offsets that groups have committed stay."""
    _state(control, topic)
    control.mq.topic(topic).delete()
    return Done()


@endpoint("GET", "/v1/topics/{topic}/messages", waits=True)
async def get_messages(control: Control, topic: str, query: Page) -> Messages:
    """Return the messages of a topic in the order of their storing, with their deliveries.

    A compressed body is unpacked if that makes up to 4 MiB, and 8 MiB for all; else it is shown as
    it came.
    """
    check_topic(control.core, topic, may_come=False)
    steps = inspection.messages_page(control.core, topic, query.offset, query.limit)
    total, page = await control.server.carry_out(steps)
    return Messages(total=total, offset=query.offset, messages=[*map(_shown, page)])


@endpoint("POST", "/v1/topics/{topic}/messages", body_max_bytes=SEED_MAX_BYTES)
async def seed_messages(control: Control, topic: str, body: Seed) -> list[ShownMessage]:
    """Store messages as if a producer had sent them, and return them.

    A topic that does not exist is created.
    """
    bodies = [one if isinstance(one, str) else one.base64 for one in body.bodies]
    steps = seeding(control.core, topic, bodies, body.tags, body.keys, body.properties, body.queue)
    return await control.server.carry_out(_all_shown(steps))


@endpoint("GET", "/v1/topics/{topic}/messages/{message}/biography", waits=True)
async def get_biography(control: Control, topic: str, message: str) -> Biography:
    """Return everything that happened to a message; 404 if there is no message of this id.

    One that was cut off, or lost, is found by its unique id as long as the journal knows it.
    """
    check_topic(control.core, topic)
    found = await control.server.carry_out(find(control.core, topic, message))
    await control.server.carry_out(control.mq.reading_of_journal())
    biography = control.mq.biography(message if found is None else message_of(found))
    if found is None and all(stored.topic != topic for stored in biography.of(Stored)):
        raise Refusal(404, f"no message {message} in {topic}")
    return Biography(name=biography.name, steps=[str(step) for step in biography])


@endpoint("GET", "/v1/diagnosis", waits=True)
async def get_diagnosis(control: Control, query: Waiting) -> list[str]:
    """Return the most likely reasons why messages are not consumed, the most certain first."""
    return await control.server.carry_out(control.mq.diagnosing(query.topic, query.group))


@endpoint("GET", "/v1/delayed", waits=True)
async def get_delayed(control: Control, query: OfTopic) -> list[ShownDelayed]:
    """Return the messages that wait for their delay level or time, of a topic or all.

    The next due one comes first. A timer message has the level 0.
    """
    if query.topic is not None:
        check_topic(control.core, query.topic)
    return await control.server.carry_out(_delayed(control, query.topic))


def _state(control: Control, topic: str) -> TopicState:
    check_topic(control.core, topic, may_come=False)
    queues = inspection.queues(control.core, topic)
    stored = sum(queue.max_offset - queue.min_offset for queue in queues)
    kind = changes.last_message_type(control.core, topic)
    return TopicState(name=topic, queues=queues, messages=stored, message_type=kind)


def _delayed(control: Control, topic: str | None) -> Steps[list[ShownDelayed]]:
    left = deque((yield from inspection.delayed(control.core, topic)))
    shown = []
    while left:
        one = left.popleft()
        shown.append(ShownDelayed(**msgspec.structs.asdict(one), text=_text(one.message.body)))
        yield
    return shown


def _all_shown(steps: Steps[list[Message]]) -> Steps[list[ShownMessage]]:
    messages = deque((yield from steps))
    shown = []
    while messages:  # each is freed in its step: all together would take long
        shown.append(_shown(messages.popleft()))
        yield
    return shown


def _shown(message: Message) -> ShownMessage:
    fields = {name: getattr(message, name) for name in Message.__struct_fields__}
    return ShownMessage(
        **fields,
        text=_text(message.body),
        born_at_ms=message.born_timestamp_ms,
        stored_at_ms=message.store_timestamp_ms,
    )


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None
