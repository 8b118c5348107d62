"""RocketMQ's six strategies; each has RocketMQ's name, and makes Java's checks of its arguments.

Source: client/consumer/AllocateMessageQueueStrategy.java,
client/consumer/rebalance/AbstractAllocateMessageQueueStrategy.java (4.9.7)
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from hashlib import md5 as _md5
from typing import Protocol, TypeAlias

from fakemq.protocol.bodies.queue import MessageQueue

_log = logging.getLogger("fakemq.client")

AllocateStrategy: TypeAlias = Callable[
    [str, str, Sequence[MessageQueue], Sequence[str]], Sequence[MessageQueue] | None
]
"""Takes a group, this client's id, all queues and all client ids, both sorted; returns the queues
of this client. Every member computes its own share, so all must use the same strategy, and its
result may depend on nothing else."""


class Strategy:
    """A strategy of RocketMQ: a callable with RocketMQ's ``name``.

    ``has_user_code`` says that it calls functions of the user, which may take time.
    """

    __slots__ = ("_allocate", "has_user_code", "name")

    def __init__(self, name: str, allocate: AllocateStrategy, *, user_code: bool = False) -> None:
        self.name = name
        self._allocate = allocate
        self.has_user_code = user_code

    def __call__(
        self,
        group: str,
        client_id: str,
        queues: Sequence[MessageQueue],
        client_ids: Sequence[str],
    ) -> Sequence[MessageQueue] | None:
        """Return the queues of ``client_id``. Raise ValueError if an argument is empty."""
        return self._allocate(group, client_id, queues, client_ids)

    def __repr__(self) -> str:
        return f"<strategy {self.name}>"


def strategy_name(allocate: AllocateStrategy) -> str:
    """Return a strategy's name for a log: RocketMQ's, or that of the user's function."""
    name = getattr(allocate, "name", None) or getattr(allocate, "__name__", None)
    return name if isinstance(name, str) else type(allocate).__name__


def is_member(
    group: str,
    client_id: str,
    queues: Sequence[MessageQueue],
    client_ids: Sequence[str],
) -> bool:
    """Return whether the client is a member of the group; log it if not.

    Raise ValueError with Java's text if an argument is empty.

    Source: AbstractAllocateMessageQueueStrategy.java#check (4.9.7)
    """
    if not client_id:
        raise ValueError("currentCID is empty")
    if not queues:
        raise ValueError("mqAll is null or mqAll empty")
    if not client_ids:
        raise ValueError("cidAll is null or cidAll empty")
    if client_id in client_ids:
        return True
    _log.info(
        "[BUG] ConsumerGroup: %s The consumerId: %s not in cidAll: %s", group, client_id, client_ids
    )
    return False


def java_text(queue: MessageQueue) -> str:
    """Return the text of a queue as Java prints it.

    Source: common/message/MessageQueue.java#toString (4.9.7)
    """
    topic = "null" if queue.topic is None else queue.topic
    broker = "null" if queue.broker_name is None else queue.broker_name
    return f"MessageQueue [topic={topic}, brokerName={broker}, queueId={queue.queue_id}]"


def java_order(text: str) -> bytes:
    """Return the key by which Java sorts strings: their UTF-16 units.

    Members in Java and Python must sort alike, or two members could take the same queue.
    """
    return text.encode("utf-16-be", "surrogatepass")


def queue_order(queue: MessageQueue) -> tuple[bytes, bytes, int]:
    """Return the key by which Java sorts queues.

    Source: common/message/MessageQueue.java#compareTo (4.9.7)
    """
    return java_order(queue.topic or ""), java_order(queue.broker_name or ""), queue.queue_id


def _averagely(
    group: str, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> Sequence[MessageQueue]:
    if not is_member(group, client_id, queues, client_ids):
        return ()
    index = client_ids.index(client_id)
    share, more = divmod(len(queues), len(client_ids))
    start = index * share + min(index, more)
    return queues[start : start + share + (index < more)]


def _averagely_by_circle(
    group: str, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> Sequence[MessageQueue]:
    if not is_member(group, client_id, queues, client_ids):
        return ()
    return queues[client_ids.index(client_id) :: len(client_ids)]


averagely = Strategy("AVG", _averagely)
"""Neighbouring queues, of which the first members get one more: the default of RocketMQ.

Source: client/consumer/rebalance/AllocateMessageQueueAveragely.java (4.9.7)
"""

averagely_by_circle = Strategy("AVG_BY_CIRCLE", _averagely_by_circle)
"""The queues go round the members one by one.

Source: client/consumer/rebalance/AllocateMessageQueueAveragelyByCircle.java (4.9.7)
"""


def by_config(queues: Iterable[MessageQueue]) -> Strategy:
    """Always take exactly these queues, whatever other members do.

    As in Java, nothing is checked, and queues of several topics may be named: each division of
    one topic takes all of them. A retry topic of the group is consumed only if its queue is
    named, too.

    Source: client/consumer/rebalance/AllocateMessageQueueByConfig.java (4.9.7)
    """
    chosen = tuple(queues)

    def allocate(
        group: str, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> Sequence[MessageQueue]:
        return chosen

    return Strategy("CONFIG", allocate)


VIRTUAL_NODES = 10


def md5(text: str) -> int:
    """Return the first four bytes of a text's MD5, as Java's ring orders its nodes.

    Source: common/consistenthash/ConsistentHashRouter.java#MD5Hash (4.9.7)
    """
    # Java writes "?" for half a surrogate pair.
    digest = _md5(text.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big")


def consistent_hash(
    virtual_nodes: int = VIRTUAL_NODES, hash: Callable[[str], int] = md5
) -> Strategy:
    """Each client has ``virtual_nodes`` places in a ring; a queue goes to the next place.

    ``hash`` must be the same for all members. Raise ValueError for a negative number of nodes.

    Source: client/consumer/rebalance/AllocateMessageQueueConsistentHash.java (4.9.7)
    """
    if virtual_nodes < 0:
        raise ValueError(f"illegal virtualNodeCnt :{virtual_nodes}")

    def allocate(
        group: str, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> Sequence[MessageQueue]:
        if not is_member(group, client_id, queues, client_ids):
            return ()
        ring = _ring(client_ids, virtual_nodes, hash)
        if not ring:
            return ()
        places = sorted(ring)
        mine = []
        for queue in queues:
            at = bisect_left(places, hash(java_text(queue)))
            if ring[places[at % len(places)]] == client_id:
                mine.append(queue)
        return mine

    return Strategy("CONSISTENT_HASH", allocate, user_code=hash is not md5)


def _ring(
    client_ids: Sequence[str], virtual_nodes: int, hash: Callable[[str], int]
) -> dict[int, str]:
    """Return the client at each place. Of two with one hash the later one stays.

    Source: common/consistenthash/ConsistentHashRouter.java#addNode (4.9.7)
    """
    ring: dict[int, str] = {}
    places_of: dict[str, int] = {}
    for client_id in client_ids:
        # Not 0 for an id that is in the list twice: its nodes get further numbers.
        first = places_of.get(client_id, 0)
        for number in range(first, first + virtual_nodes):
            place = hash(f"{client_id}-{number}")
            before = ring.get(place)
            if before is not None:
                places_of[before] -= 1
            ring[place] = client_id
            places_of[client_id] = places_of.get(client_id, 0) + 1
    return ring


def by_machine_room(rooms: Iterable[str]) -> Strategy:
    """Divide only the queues of brokers in ``rooms``: brokers with names like ``room@broker``.

    Every member gets the same number of neighbouring queues, and the first members one of the
    rest each.

    Source: client/consumer/rebalance/AllocateMessageQueueByMachineRoom.java (4.9.7)
    """
    chosen = frozenset(rooms)

    def allocate(
        group: str, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> Sequence[MessageQueue]:
        if not is_member(group, client_id, queues, client_ids):
            return ()
        inside = [one for one in queues if _room_in_name(one.broker_name or "") in chosen]
        index = client_ids.index(client_id)
        share, more = divmod(len(inside), len(client_ids))
        mine = inside[share * index : share * (index + 1)]
        if index < more:
            mine.append(inside[index + share * len(client_ids)])
        return mine

    return Strategy("MACHINE_ROOM", allocate)


def _room_in_name(broker_name: str) -> str | None:
    # Java's split drops empty parts at the end: "room@broker@" has two parts, "room@" has one.
    parts = broker_name.rstrip("@").split("@")
    return parts[0] if len(parts) == 2 else None


class MachineRoomResolver(Protocol):
    """Finds the machine rooms for `machine_room_nearby`; neither answer may be empty.

    Source: client/consumer/rebalance/AllocateMachineRoomNearby.java#MachineRoomResolver (4.9.7)
    """

    def broker_deploy_in(self, queue: MessageQueue) -> str:
        """Return the machine room of a queue's broker."""

    def consumer_deploy_in(self, client_id: str) -> str:
        """Return the machine room of a client."""


def machine_room_nearby(inner: AllocateStrategy, resolver: MachineRoomResolver) -> Strategy:
    """Divide the queues of a room among the clients in it by ``inner``.

    All members share the queues of a room without clients. Raise ValueError when a queue or a
    client has no room.

    Source: client/consumer/rebalance/AllocateMachineRoomNearby.java (4.9.7)
    """

    def allocate(
        group: str, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> Sequence[MessageQueue]:
        if not is_member(group, client_id, queues, client_ids):
            return ()
        queues_of: dict[str, list[MessageQueue]] = {}
        for queue in queues:
            room = resolver.broker_deploy_in(queue)
            if not room:
                raise ValueError(f"Machine room is null for mq {java_text(queue)}")
            queues_of.setdefault(room, []).append(queue)
        clients_of: dict[str, list[str]] = {}
        for one in client_ids:
            room = resolver.consumer_deploy_in(one)
            if not room:
                raise ValueError(f"Machine room is null for consumer id {one}")
            clients_of.setdefault(room, []).append(one)
        here = resolver.consumer_deploy_in(client_id)
        mine: list[MessageQueue] = []
        near = queues_of.pop(here, None)
        if near:
            mine += inner(group, client_id, near, clients_of.get(here, [])) or ()
        for room in sorted(queues_of, key=java_order):
            if room not in clients_of:
                mine += inner(group, client_id, queues_of[room], client_ids) or ()
        return mine

    return Strategy(f"MACHINE_ROOM_NEARBY-{strategy_name(inner)}", allocate, user_code=True)
