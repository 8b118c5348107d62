"""Queues that the user names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fakemq.client.consuming.allocation.strategy import Strategy
from fakemq.protocol.bodies.queue import MessageQueue


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
