"""Endpoints of the page: the whole cluster at a glance, and messages by id or key."""

from __future__ import annotations

from typing import Annotated

import msgspec

from fakemq.clock.slices import Steps
from fakemq.control.control import Control
from fakemq.control.controllers import (
    ControllerState,
    ReplicaGroupState,
    get_controllers,
    replica_groups,
)
from fakemq.control.endpoints import Query, endpoint
from fakemq.control.faults import FaultState, get_faults
from fakemq.control.nodes import ClusterState, get_state
from fakemq.core import overview
from fakemq.core.overview import GroupSum, LinkSum, TopicSum, links
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.hosts import format_host
from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.message import MessageExt, decode_record
from fakemq.protocol.message_id import decode_offset_id

FOUND_MOST = 50
"""How many messages a search returns."""

Word = Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A producer or consumer that is connected."""

    role: str
    group: str
    client_id: str
    peer: str


class Glance(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster of now: what the page shows."""

    state: ClusterState
    topics: list[TopicSum]
    groups: list[GroupSum]
    clients: list[Client]
    links: list[LinkSum]
    faults: list[FaultState]
    controllers: list[ControllerState]
    replica_groups: list[ReplicaGroupState]
    """The first 200 groups that the controllers know."""
    topics_left_out: int
    """How many further topics there are that the query means."""
    groups_left_out: int
    """How many further groups there are that the query means."""
    clients_left_out: int
    """How many further clients there are that the query means."""
    links_left_out: int
    """How many further pairs of ends are connected; ``links`` has the first 500 by name."""
    replica_groups_left_out: int
    """How many further groups the controllers know."""


class Looked(Query):
    topic: str = ""
    """Only topics with this text in their names, in capitals or not."""
    system: bool = True
    """Whether topics of RocketMQ itself are among them, retries and dead letters included."""
    group: str = ""
    """Only groups with this text in their names, in capitals or not."""
    client: str = ""
    """Only clients with this text in their ids, groups or addresses, in capitals or not."""


class Find(Query):
    word: Word
    """A unique id, an offset id, or a key of messages."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Where a message is; its biography is asked for by topic and id."""

    topic: str
    system: bool
    """Whether RocketMQ itself uses the topic, retries and dead letters included."""
    broker: str
    queue_id: int
    offset: int
    msg_id: str
    """The unique id that its producer gave it, or ``offset_msg_id``."""
    offset_msg_id: str
    """The offset id: its broker's address, and its place in the log."""
    keys: str
    tags: str
    stored_at_ms: int
    body_bytes: int


@endpoint("GET", "/v1/overview", waits=True)
async def get_overview(control: Control, query: Looked) -> Glance:
    """Return nodes, connections, topics, groups, clients, faults: the first 200 of each by name."""
    return await control.server.carry_out(_glance(control, query))


def _glance(control: Control, query: Looked) -> Steps[Glance]:
    seen = yield from overview.overview_steps(
        control.core, topic=query.topic, system=query.system, group=query.group
    )
    clients, client_count = yield from _clients(control, query.client)
    replicas = yield from replica_groups(control.core)
    first_links, links_left_out = links(control.core)
    return Glance(
        state=get_state(control),
        topics=seen.topics,
        groups=seen.groups,
        clients=clients,
        links=first_links,
        faults=get_faults(control),
        controllers=get_controllers(control),
        replica_groups=replicas[: overview.MOST],
        topics_left_out=seen.topics_left_out,
        groups_left_out=seen.groups_left_out,
        clients_left_out=client_count - len(clients),
        links_left_out=links_left_out,
        replica_groups_left_out=max(0, len(replicas) - overview.MOST),
    )


@endpoint("GET", "/v1/messages", waits=True)
async def find_messages(control: Control, query: Find) -> list[Found]:
    """Return the messages of all topics with a unique id, an offset id or a key, by their index."""
    return await control.server.carry_out(_found(control, query.word))


def _clients(control: Control, text: str) -> Steps[tuple[list[Client], int]]:
    """Return the first clients by role, group and id, and how many there are."""
    found: dict[tuple[str, str, str], Client] = {}

    def add(role: str, group: str, client_id: str, peer: str) -> None:
        if overview.has_text(text, client_id, group, peer):
            client = Client(role=role, group=group, client_id=client_id, peer=peer)
            found.setdefault((role, group, client_id), client)

    for broker in control.core.brokers.values():
        for group in broker.consumers.names():
            for one in broker.consumers.members(group):
                add("consumer", group, one.client_id, one.session.remote_addr)
                yield
        for group in broker.producers.groups():
            for one in broker.producers.channels(group) or ():
                add("producer", group, one.client_id, one.session.remote_addr)
                yield
    front = control.core.proxy  # its clients are known to no broker
    door = control.core.door
    if door is not None:
        for role, snapshot in (
            ("consumer", door.consumers.snapshot()),
            ("producer", door.producers.snapshot()),
        ):
            for group, channels in snapshot.items():
                for channel in channels:
                    add(role, group, channel.client_id, channel.session.remote_addr)
                    yield
    for (role, group), members in {} if front is None else front.clients.snapshot().items():
        for member in members:
            add(role, group, member.client_id, member.connection.remote_addr)
            yield
    keys, count = yield from overview.first_ones(found, overview.MOST)
    return [found[key] for key in keys], count


def _found(control: Control, word: str) -> Steps[list[Found]]:
    found: dict[tuple[str, int], Found] = {}

    def add(broker: str, message: MessageExt) -> None:
        found[broker, message.physical_offset] = Found(
            topic=message.topic,
            system=overview.is_system(control.core, message.topic),
            broker=broker,
            queue_id=message.queue_id,
            offset=message.queue_offset,
            msg_id=message.msg_id,
            offset_msg_id=message.offset_msg_id,
            keys=message.keys or "",
            tags=message.tags or "",
            stored_at_ms=message.store_timestamp_ms,
            body_bytes=len(message.body),
        )

    for broker in control.core.running_masters():
        name = broker.config.broker_name
        at_place = _at_place(word, broker.addr)
        if at_place is not None:
            message = broker.store.look_message_by_offset(at_place)
            if message is not None:
                add(name, message)
        for topic in list(broker.topics.snapshot()):
            result = yield from broker.store.query_message(topic, word, FOUND_MOST, 0, LONG_MAX)
            for buffer in result.buffers:
                message = decode_record(buffer)
                if word in (message.msg_id, *(message.keys or "").split()):
                    add(name, message)
            yield
            if len(found) >= FOUND_MOST:
                break
    return sorted(found.values(), key=lambda one: one.stored_at_ms)[:FOUND_MOST]


def _at_place(word: str, addr: str) -> int | None:
    """Return the physical offset in an offset id of the broker at an address."""
    try:
        host, offset = decode_offset_id(word)
    except RemoteProtocolError:
        return None
    return offset if format_host(host) == addr else None
