"""Topics and their messages."""

from __future__ import annotations

from typing import Annotated

import msgspec

from fakemq.control.control import Control
from fakemq.control.endpoints import Body, Query, endpoint
from fakemq.control.results import Done, Refusal
from fakemq.core import inspection
from fakemq.core.views import Delayed, Message, Queue

Limit = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
Offset = Annotated[int, msgspec.Meta(ge=0)]


class TopicState(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    queues: list[Queue]
    """At every broker that has it."""
    messages: int
    """How many are stored."""


class ChangeTopic(Body):
    queues: int | None = None
    """Queues to read from, and to write to unless that is said; of a new topic 8."""
    write_queues: int | None = None
    perm: str | None = None
    """``RW``, ``R``, ``W`` or nothing."""


class ShownMessage(Message, frozen=True, kw_only=True):
    """A stored message; ``body`` is base64, ``text`` the same where it is UTF-8."""

    text: str | None


class ShownDelayed(Delayed, frozen=True, kw_only=True, gc=False):
    """A message that waits for its delay level; ``text`` is its body where that is UTF-8."""

    text: str | None


class Page(Query):
    offset: Offset = 0
    """So many are left out at the beginning."""
    limit: Limit = 100


class Messages(msgspec.Struct, frozen=True, kw_only=True):
    total: int
    """How many there are; what is shown begins at ``offset``."""
    offset: int
    messages: list[ShownMessage]


class Base64(Body):
    base64: bytes


class Seed(Body):
    bodies: list[str | Base64]
    """Each a text, or an object such as ``{"base64": "AAE="}``."""
    tags: str = ""
    keys: str = ""
    properties: dict[str, str] = msgspec.field(default_factory=dict)
    """Such as ``{"DELAY": "3"}``; what waits for its delay level is not in the topic yet."""
    queue: int | None = None
    """The queue's id; else they go in turn to all queues."""


class OfTopic(Query):
    topic: str | None = None


class Waiting(Query):
    topic: str | None = None
    group: str | None = None
    """Who should have had them."""


class Biography(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a message, oldest first, as docs/journal.md has it."""

    name: str
    steps: list[str]


@endpoint("GET", "/v1/topics")
def get_topics(control: Control) -> list[str]:
    """The names of all topics, RocketMQ's own among them."""
    return control.mq.topics()


@endpoint("GET", "/v1/topics/{topic}")
def get_topic(control: Control, topic: str) -> TopicState:
    """A topic's queues."""
    return _state(control, topic)


@endpoint("PUT", "/v1/topics/{topic}")
def put_topic(control: Control, topic: str, body: ChangeTopic) -> TopicState:
    """Create a topic at every running master, or change it; clients hear of it with their route."""
    handle = control.mq.topic(topic)
    there = topic in control.mq.topics()
    if not there:
        control.mq.create_topic(topic, 8 if body.queues is None else body.queues)
    if body.perm is not None:
        handle.set_perm(body.perm)
    if body.write_queues is not None or (there and body.queues is not None):
        read = len({queue.queue_id for queue in control.mq.queues(topic)})
        handle.set_queues(read if body.queues is None else body.queues, body.write_queues)
    return _state(control, topic)


@endpoint("DELETE", "/v1/topics/{topic}")
def delete_topic(control: Control, topic: str) -> Done:
    """Delete a topic everywhere; what groups have committed stays."""
    _state(control, topic)
    control.mq.topic(topic).delete()
    return Done()


@endpoint("GET", "/v1/topics/{topic}/messages")
def get_messages(control: Control, topic: str, query: Page) -> Messages:
    """What is stored, in the order of being stored, with its deliveries."""
    inspection.check_topic(control.core, topic)
    found = control.mq.messages(topic)
    shown = found[query.offset : query.offset + query.limit]
    return Messages(total=len(found), offset=query.offset, messages=[*map(_shown, shown)])


@endpoint("POST", "/v1/topics/{topic}/messages")
def seed_messages(control: Control, topic: str, body: Seed) -> list[ShownMessage]:
    """Store messages as if a producer had sent them; gives what was stored.

    A topic that does not exist is created.
    """
    bodies = [one if isinstance(one, str) else one.base64 for one in body.bodies]
    if not control.core.running_masters():
        raise Refusal(409, f"no broker runs that could store messages for {topic}")
    seeded = control.mq.seed(
        topic,
        bodies,
        tags=body.tags,
        keys=body.keys,
        properties=body.properties,
        queue=body.queue,
    )
    return [*map(_shown, seeded)]


@endpoint("GET", "/v1/topics/{topic}/messages/{message}/biography")
def get_biography(control: Control, topic: str, message: str) -> Biography:
    """What became of a message, by its id; 404 if the topic has none of that id."""
    for found in control.mq.messages(topic):
        if message in (found.msg_id, found.offset_msg_id):
            told = found.biography
            return Biography(name=told.name, steps=[str(step) for step in told])
    raise Refusal(404, f"no message {message} in {topic}")


@endpoint("GET", "/v1/diagnosis")
def get_diagnosis(control: Control, query: Waiting) -> list[str]:
    """What most likely keeps messages from being consumed, the most certain first."""
    return control.mq.diagnosis(query.topic, query.group)


@endpoint("GET", "/v1/delayed")
def get_delayed(control: Control, query: OfTopic) -> list[ShownDelayed]:
    """Messages that wait for their delay level, for a topic or for all; next due first."""
    if query.topic is not None:
        inspection.check_topic(control.core, query.topic, may_come=True)
    return [
        ShownDelayed(**msgspec.structs.asdict(one), text=_text(one.message.body))
        for one in inspection.delayed(control.core, query.topic)
    ]


def _state(control: Control, topic: str) -> TopicState:
    inspection.check_topic(control.core, topic)
    queues = inspection.queues(control.core, topic)
    stored = sum(queue.max_offset - queue.min_offset for queue in queues)
    return TopicState(name=topic, queues=queues, messages=stored)


def _shown(message: Message) -> ShownMessage:
    fields = {name: getattr(message, name) for name in Message.__struct_fields__}
    return ShownMessage(**fields, text=_text(message.body))


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None
