"""Message queues, and the bodies that lock them or look into them."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from msgspec import field

from fakemq.protocol.bodies.body import Body, FrozenBody, Int, Long
from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.protocol.java import int32, java_hash

_hash_of_name = lru_cache(maxsize=64)(java_hash)
"""Queues that are ordered together have few names."""


class MessageQueue(FrozenBody, frozen=True, order=True):
    """One queue of a topic at one broker; ordered as Java compares them.

    Source: common/message/MessageQueue.java (4.9.7)
    """

    topic: str | None = None
    broker_name: str | None = None
    queue_id: Int = 0

    def java_hash(self) -> int:
        """Its hashCode, by which Java orders a map of queues."""
        total = 31 + _hash_of_name(self.broker_name)
        return int32((total * 31 + self.queue_id) * 31 + _hash_of_name(self.topic))


class LockBatchRequestBody(Body):
    """Source: common/protocol/body/LockBatchRequestBody.java (4.9.7)"""

    needs: ClassVar[tuple[str, ...]] = ("mqSet",)  # see `fakemq.protocol.beans.NEEDS`

    consumer_group: str | None = None
    client_id: str | None = None
    mq_set: list[MessageQueue] = field(default_factory=list)


class LockBatchResponseBody(Body):
    """Source: common/protocol/body/LockBatchResponseBody.java (4.9.7)"""

    lock_ok_mq_set: list[MessageQueue] = field(default_factory=list, name="lockOKMQSet")


class UnlockBatchRequestBody(Body):
    """Source: common/protocol/body/UnlockBatchRequestBody.java (4.9.7)"""

    consumer_group: str | None = None
    client_id: str | None = None
    mq_set: list[MessageQueue] = field(default_factory=list)


# A look into a consume queue.


class ConsumeQueueData(Body):
    """One entry of a consume queue.

    Source: common/protocol/body/ConsumeQueueData.java (4.9.7)
    """

    physic_offset: Long = 0
    physic_size: Int = 0
    tags_code: Long = 0
    extend_data_json: str | None = None
    bit_map: str | None = None
    eval: bool = False
    msg: str | None = None


class QueryConsumeQueueResponseBody(Body):
    """Entries of a consume queue, and what a group would filter them by (JSON in a string).

    Source: common/protocol/body/QueryConsumeQueueResponseBody.java (4.9.7)
    """

    subscription_data: SubscriptionData | None = None
    filter_data: str | None = None
    queue_data: list[ConsumeQueueData] | None = None
    max_queue_index: Long = 0
    min_queue_index: Long = 0
