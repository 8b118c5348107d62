"""Consumer groups: how far they are, who is in them, and what is set of them."""

from __future__ import annotations

import msgspec

from fakemq.control.control import Control
from fakemq.control.endpoints import Body, Query, endpoint
from fakemq.control.results import Done, Refusal
from fakemq.core.views import Member
from fakemq.protocol.bodies.group import SubscriptionGroupConfig


class QueueOffset(msgspec.Struct, frozen=True, kw_only=True):
    broker: str
    queue_id: int
    offset: int
    """The next to consume."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a group has come in a topic."""

    topic: str
    lag: int
    """Stored messages behind the committed offsets."""
    offsets: list[QueueOffset]


class GroupState(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    members: list[Member]
    settings: dict[str, str | int | bool]
    """As the first running master has them; nothing where none knows the group."""
    topics: list[Progress]
    """Those in which it has committed something, and those asked for."""


class WithTopics(Query):
    topic: list[str] = msgspec.field(default_factory=list)
    """Topics whose lag is wanted although nothing may have been committed there."""


class Settings(Body):
    settings: dict[str, bool | int]
    """What is to be set, such as ``{"retry_max_times": 3, "consume_enable": false}``."""


class Delete(Query):
    offsets: bool = False
    """Forget what it has committed, too."""


@endpoint("GET", "/v1/groups")
def get_groups(control: Control) -> list[str]:
    """The names of all groups, RocketMQ's own among them."""
    brokers = control.core.brokers.values()
    return sorted({group for broker in brokers for group in broker.groups.snapshot()})


@endpoint("GET", "/v1/groups/{group}")
def get_group(control: Control, group: str, query: WithTopics) -> GroupState:
    """A group's lag, offsets, members and settings, whether it exists already or not."""
    return _state(control, group, query.topic)


@endpoint("PUT", "/v1/groups/{group}")
def put_group(control: Control, group: str, body: Settings) -> GroupState:
    """Create or change a group; its settings are those of RocketMQ's subscription groups."""
    try:
        control.mq.group(group).set(**body.settings)  # type: ignore[arg-type]  # checked there
    except TypeError as error:
        raise Refusal(400, str(error)) from None
    return _state(control, group, [])


@endpoint("POST", "/v1/groups/{group}/suspend")
def suspend_group(control: Control, group: str) -> GroupState:
    """Let no member pull."""
    control.mq.group(group).suspend()
    return _state(control, group, [])


@endpoint("POST", "/v1/groups/{group}/resume")
def resume_group(control: Control, group: str) -> GroupState:
    """Let members pull again."""
    control.mq.group(group).resume()
    return _state(control, group, [])


@endpoint("DELETE", "/v1/groups/{group}")
def delete_group(control: Control, group: str, query: Delete) -> Done:
    """Delete a group everywhere; a member's next pull makes it anew."""
    control.mq.group(group).delete(offsets=query.offsets)
    return Done()


def _state(control: Control, group: str, wanted: list[str]) -> GroupState:
    brokers = control.core.brokers.values()
    topics = {topic for broker in brokers for topic in broker.offsets.which_topics_by_group(group)}
    handle = control.mq.group(group)
    configs = (broker.groups.snapshot().get(group) for broker in control.core.running_masters())
    return GroupState(
        name=group,
        members=handle.members(),
        settings=next((_settings(config) for config in configs if config is not None), {}),
        topics=[
            Progress(
                topic=topic,
                lag=handle.lag(topic),
                offsets=[
                    QueueOffset(broker=broker, queue_id=queue_id, offset=offset)
                    for (broker, queue_id), offset in sorted(handle.offsets(topic).items())
                ],
            )
            for topic in sorted({*topics, *wanted})
        ],
    )


def _settings(config: SubscriptionGroupConfig) -> dict[str, str | int | bool]:
    settings = msgspec.structs.asdict(config)
    del settings["group_name"]
    return settings
