"""Shares of equal size: of neighbouring queues, or of every n-th queue."""

from __future__ import annotations

from collections.abc import Sequence

from fakemq.client.consuming.allocation.strategy import Strategy, is_member
from fakemq.protocol.bodies.queue import MessageQueue


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
