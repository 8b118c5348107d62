"""A cluster at a glance: its topics and groups with their sums, for a screen or a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fakemq.broker.groups import BUILT_IN_GROUPS, SYSTEM_GROUP_PREFIX
from fakemq.core import inspection
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.core.cluster import ClusterCore

MOST = 200
"""How many topics, and how many groups, are shown: each is summed up anew for each look."""


class TopicSum(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One topic of all brokers together."""

    name: str
    system: bool
    """Whether RocketMQ itself uses it, retries and dead letters included."""
    queues: int
    messages: int
    """How many are stored."""
    written: int
    """How many were ever stored in queues that exist."""


class GroupSum(msgspec.Struct, frozen=True, kw_only=True):
    """One consumer group in all topics together."""

    name: str
    members: int
    lag: int
    """How many stored messages are beyond its committed offsets."""
    consumed: int
    """The sum of its committed offsets."""
    lags: dict[str, int]
    """The lag in each topic in which it has committed an offset."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The topics and groups by name, those of users first; at most `MOST` of each."""

    topics: list[TopicSum]
    groups: list[GroupSum]
    left_out: int
    """How many topics and groups are not shown."""
    connections: int
    """The connections to brokers, and to the gRPC front."""


def overview(core: ClusterCore, *, most: int = MOST) -> Overview:
    """Return the sums of now."""
    brokers, front = list(core.brokers.values()), core.proxy
    names = sorted(inspection.topics(core), key=lambda name: (_is_system(brokers, name), name))
    groups = sorted(
        {
            group
            for broker in brokers
            for group in (*broker.groups.snapshot(), *broker.consumers.snapshot())
            if group not in BUILT_IN_GROUPS and not group.startswith(SYSTEM_GROUP_PREFIX)
        }
    )
    return Overview(
        topics=[_topic(core, name, _is_system(brokers, name)) for name in names[:most]],
        groups=[_group(core, brokers, name) for name in groups[:most]],
        left_out=max(0, len(names) - most) + max(0, len(groups) - most),
        connections=sum(len(broker.sessions) for broker in brokers)
        + (0 if front is None else len(front.sessions)),
    )


def _is_system(brokers: list[Broker], name: str) -> bool:
    return name.startswith((RETRY_PREFIX, DLQ_PREFIX)) or any(
        broker.topics.is_system(name) for broker in brokers
    )


def _topic(core: ClusterCore, name: str, system: bool) -> TopicSum:
    queues = inspection.queues(core, name)
    return TopicSum(
        name=name,
        system=system,
        queues=len(queues),
        messages=sum(one.max_offset - one.min_offset for one in queues),
        written=sum(one.max_offset for one in queues),
    )


def _group(core: ClusterCore, brokers: list[Broker], name: str) -> GroupSum:
    topics = {topic for one in brokers for topic in one.offsets.which_topics_by_group(name)}
    lags = {topic: inspection.lag(core, name, topic) for topic in sorted(topics)}
    return GroupSum(
        name=name,
        members=len(inspection.members(core, name)),
        lag=sum(lags.values()),
        consumed=sum(sum(inspection.offsets(core, name, topic).values()) for topic in topics),
        lags=lags,
    )
