"""A cluster at a glance: its topics and groups with their sums, for a screen or a page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fakemq.broker.tables.groups import BUILT_IN_GROUPS, SYSTEM_GROUP_PREFIX
from fakemq.clock.slices import A_STEP, Steps, finished
from fakemq.core import inspection
from fakemq.net.faults.links import LinkPlan, node_names
from fakemq.net.session import Session
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore
    from fakemq.net.faults.lane import OpenLink

MOST = 200
"""How many topics, and how many groups, a page shows at once."""


T = TypeVar("T", bound=Any)


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
    """The topics and groups by name, those of users first."""

    topics: list[TopicSum]
    groups: list[GroupSum]
    topics_left_out: int
    """How many further topics there are."""
    groups_left_out: int
    """How many further groups there are."""
    connections: int
    """The connections to brokers, and to the gRPC front."""


def overview(
    core: ClusterCore,
    *,
    most: int | None = MOST,
    topic: str = "",
    system: bool = True,
    group: str = "",
) -> Overview:
    """Return the sums of now; see `overview_steps`."""
    return finished(overview_steps(core, most=most, topic=topic, system=system, group=group))


def overview_steps(
    core: ClusterCore,
    *,
    most: int | None = MOST,
    topic: str = "",
    system: bool = True,
    group: str = "",
) -> Steps[Overview]:
    """Return the sums of at most ``most`` topics and ``most`` groups; None means all.

    Only topics with the text ``topic`` in their names count, and groups with ``group``, in capitals
    or not; without ``system`` no topics that RocketMQ itself uses.
    """
    brokers, front = list(core.brokers.values()), core.proxy
    kinds = (
        (is_system(core, name), name) for name in inspection.topics(core) if has_text(topic, name)
    )
    names, topic_count = yield from first_ones(
        ((of_rocketmq, name) for of_rocketmq, name in kinds if system or not of_rocketmq), most
    )
    known = {
        name for broker in brokers for name in (*broker.groups.names(), *broker.consumers.names())
    }
    groups, group_count = yield from first_ones(
        (
            name
            for name in known
            if name not in BUILT_IN_GROUPS and not name.startswith(SYSTEM_GROUP_PREFIX)
            if has_text(group, name)
        ),
        most,
    )
    topic_sums, group_sums = [], []
    for of_rocketmq, name in names:
        topic_sums.append(_topic(core, name, of_rocketmq))
        yield
    consumed = []
    for broker in brokers:
        consumed.append((yield from broker.offsets.topics_by_group()))
    for name in groups:
        topics = set().union(*(by_group.get(name, ()) for by_group in consumed))
        group_sums.append(_group(core, name, topics))
        yield
    return Overview(
        topics=topic_sums,
        groups=group_sums,
        topics_left_out=topic_count - len(topic_sums),
        groups_left_out=group_count - len(group_sums),
        connections=sum(len(broker.sessions) for broker in brokers)
        + (0 if front is None else len(front.sessions)),
    )


def first_ones(found: Iterable[T], most: int | None) -> Steps[tuple[list[T], int]]:
    """Return the ``most`` first ones in order, None for all, and how many there are."""
    first: list[T] = []
    part: list[T] = []
    count = 0
    for count, one in enumerate(found, 1):
        part.append(one)
        if not count % A_STEP:
            if most is not None:
                first, part = sorted([*first, *part])[:most], []
            yield
    return sorted([*first, *part])[:most], count


def has_text(text: str, *names: str) -> bool:
    """Return whether a text is in one of the names, in capitals or not."""
    return any(text.lower() in name.lower() for name in names)


def is_system(core: ClusterCore, topic: str) -> bool:
    """Return whether RocketMQ itself uses a topic, retries and dead letters included."""
    return topic.startswith((RETRY_PREFIX, DLQ_PREFIX)) or any(
        broker.topics.is_system(topic) for broker in core.brokers.values()
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


def _group(core: ClusterCore, name: str, topics: set[str]) -> GroupSum:
    offsets = {topic: inspection.offsets(core, name, topic) for topic in sorted(topics)}
    # A group that was deleted between the steps has none.
    lags = {topic: inspection.lag(core, name, topic) for topic, has in offsets.items() if has}
    return GroupSum(
        name=name,
        members=len(inspection.members(core, name)),
        lag=sum(lags.values()),
        consumed=sum(sum(has.values()) for has in offsets.values()),
        lags=lags,
    )


# The connections of a cluster: which ends they join, and which a fault affects.

MOST_LINKS = 500
"""How many pairs are returned at most."""


class LinkSum(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The connections between two ends: nodes by their names, clients by client id or address."""

    a: str
    b: str
    count: int
    faulty: bool
    """Whether a fault of links affects one of them."""
    client: bool
    """Whether ``b`` is a client, inside the cluster or outside."""


def links(core: ClusterCore) -> tuple[list[LinkSum], int]:
    """Return the pairs of ends that are connected now, the first by name, and how many more."""
    nodes = node_names(core)
    plan = core.network.links.faults
    of_front = _clients_of_front(core)
    counts: dict[tuple[str, str], int] = {}
    faulty: set[tuple[str, str]] = set()
    for link in core.network.links:
        # A connection inside the cluster is kept by the end that has opened it.
        near, far = link.node, link.remote_node
        if near in nodes and far in nodes:
            pairs = [(min(near, far), max(near, far))]
        elif far in nodes:
            pairs = [(far, near)]
        else:
            pairs = [(near, name) for name in _client_names(core, link, of_front)]
        for pair in pairs:
            counts[pair] = counts.get(pair, 0) + 1
            if isinstance(plan, LinkPlan) and plan.affects(link):
                faulty.add(pair)
    first = [
        LinkSum(
            a=pair[0],
            b=pair[1],
            count=count,
            faulty=pair in faulty,
            client=pair[1] not in nodes,
        )
        for pair, count in sorted(counts.items())[:MOST_LINKS]
    ]
    return first, len(counts) - len(first)


def _client_names(core: ClusterCore, link: OpenLink, of_front: Mapping[str, set[str]]) -> list[str]:
    broker, session = core.brokers.get(link.node), link.session
    ids: set[str] = set()
    if broker is not None and isinstance(session, Session):
        ids = broker.client_ids(session)
    elif core.proxy is not None and link.node == core.proxy.name:
        ids = of_front.get(link.remote_addr, ids)
    return sorted(ids) or [link.remote_node or link.remote_addr]


def _clients_of_front(core: ClusterCore) -> Mapping[str, set[str]]:
    """Return the ids of the front's clients at each address, read once for all connections."""
    found: dict[str, set[str]] = defaultdict(set)
    if core.proxy is not None:
        for session in core.proxy.sessions:
            if isinstance(session, Session):
                found[session.remote_addr] |= core.proxy.client_ids(session)
        for members in core.proxy.clients.snapshot().values():
            for client in members:
                found[client.connection.remote_addr].add(client.client_id)
    return found
