"""Strategies that know in which machine room a broker or client is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from fakemq.client.consuming.allocation.strategy import (
    AllocateStrategy,
    Strategy,
    is_member,
    java_order,
    java_text,
    strategy_name,
)
from fakemq.protocol.bodies.queue import MessageQueue


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
