"""A look into a consume queue."""

from __future__ import annotations

from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.bodies.heartbeat import SubscriptionData


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
