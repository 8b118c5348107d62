"""A ring of hashes: when a member comes or leaves, few queues change their owner."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from hashlib import md5 as _md5

from fakemq.client.consuming.allocation.strategy import Strategy, is_member, java_text
from fakemq.protocol.bodies.queue import MessageQueue

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
