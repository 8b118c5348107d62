"""Endpoints of consumer groups: their offsets, members and settings."""

from __future__ import annotations

import msgspec

from fakemq.clock.slices import finished
from fakemq.control.control import Control
from fakemq.control.endpoints import Query, RequestBody, endpoint
from fakemq.control.results import Done, Refusal
from fakemq.control.topics import Name
from fakemq.core.views import Member
from fakemq.protocol.bodies.body import Long
from fakemq.protocol.bodies.group import SubscriptionGroupConfig


class QueueOffset(msgspec.Struct, frozen=True, kw_only=True):
    broker: str
    queue_id: int
    offset: int
    """The offset of the next message to consume."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """A group's progress in a topic."""

    topic: str
    lag: int
    """The number of stored messages beyond the committed offsets."""
    offsets: list[QueueOffset]


class GroupState(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    members: list[Member]
    settings: dict[str, str | int | bool]
    """The settings at the first running master that has the group; empty if none has it."""
    topics: list[Progress]
    """The topics in which it has committed an offset, and those named in the query."""


class WithTopics(Query):
    topic: list[Name] = msgspec.field(default_factory=list)
    """Topics to show even if the group has committed no offset there."""


class Settings(RequestBody):
    settings: dict[str, bool | Long]
    """The settings to change, such as ``{"retry_max_times": 3, "consume_enable": false}``."""


class Delete(Query):
    offsets: bool = False
    """Delete its committed offsets, too."""


@endpoint("GET", "/v1/groups")
def get_groups(control: Control) -> list[str]:
    """Return the names of all groups, including RocketMQ's own."""
    brokers = control.core.brokers.values()
    return sorted({group for broker in brokers for group in broker.groups.snapshot()})


@endpoint("GET", "/v1/groups/{group}")
def get_group(control: Control, group: str, query: WithTopics) -> GroupState:
    """Return a group's lag, offsets, members and settings; the group need not exist."""
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
    """Suspend a group: no member can pull."""
    control.mq.group(group).suspend()
    return _state(control, group, [])


@endpoint("POST", "/v1/groups/{group}/resume")
def resume_group(control: Control, group: str) -> GroupState:
    """Resume a group: members can pull again."""
    control.mq.group(group).resume()
    return _state(control, group, [])


@endpoint("DELETE", "/v1/groups/{group}")
def delete_group(control: Control, group: str, query: Delete) -> Done:
    """Delete a group at every broker; a member's next pull creates it again."""
    control.mq.group(group).delete(offsets=query.offsets)
    return Done()


def _state(control: Control, group: str, wanted: list[str]) -> GroupState:
    brokers = control.core.brokers.values()
    topics = {
        topic
        for broker in brokers
        for topic in finished(broker.offsets.which_topics_by_group(group))
    }
    handle = control.mq.group(group)
    configs = (broker.groups.existing(group) for broker in control.core.running_masters())
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
