"""UPDATE_CONSUMER_OFFSET (15): store how far a group has consumed a queue.

Behaviour: as in 4.9.7, but topic and group must exist; while a reset of the queue is pending, the
offset is ignored, and the answer is SUCCESS with a remark.
Refused: an unknown group or topic: SUBSCRIPTION_GROUP_NOT_EXIST, TOPIC_NOT_EXIST; no queue or no
offset: INVALID_PARAMETER.
Ignored: ``bname``.

Source: broker/processor/ConsumerManageProcessor.java#updateConsumerOffset (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.offset import (
    UpdateConsumerOffsetRequestHeader,
    UpdateConsumerOffsetResponseHeader,
)
from fakemq.protocol.v5.codes import ResponseCode5


@handles(table.UPDATE_CONSUMER_OFFSET)
def update_consumer_offset(
    broker: Broker5, request: Request[UpdateConsumerOffsetRequestHeader]
) -> Reply[UpdateConsumerOffsetResponseHeader]:
    header = request.header
    topic, group = header.topic, header.consumer_group
    if group not in broker.groups:
        raise Refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} not exist!")
    if broker.topics.select(topic) is None:
        raise Refused(ResponseCode.TOPIC_NOT_EXIST, f"Topic {topic} not exist!")
    queue_id: int | None = header.get("queue_id", None)
    offset: int | None = header.get("commit_offset", None)
    for value, name in ((queue_id, "QueueId"), (offset, "Offset")):
        if value is None:
            raise Refused(ResponseCode5.INVALID_PARAMETER, f"{name} is null, topic is {topic}")
    assert queue_id is not None
    assert offset is not None
    reply = Reply(UpdateConsumerOffsetResponseHeader())
    resets = broker.offset_resets
    if broker.config.use_server_side_reset_offset and resets.has(topic, group, queue_id):
        reply.remark = "Offset has been previously reset"
        broker.offsets.ignore(group, topic, queue_id, offset)
        return reply
    offset = broker.positions.committable(request.session, group, topic, queue_id, offset)
    broker.offsets.commit(group, topic, queue_id, offset)
    return reply
