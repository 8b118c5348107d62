"""INVOKE_BROKER_TO_RESET_OFFSET (222): move a group to a time, or one queue to an offset.

Behaviour: the broker commits the new offsets itself, and sends each queue's next pull there;
commits until then are ignored. No member is notified, and the group need not have any. A negative
time is the end of the queue. With useServerSideResetOffset=false it is done as in 4.9.7.
Refused: a slave, an offset out of the queue's range: SYSTEM_ERROR; an unknown topic or group:
TOPIC_NOT_EXIST, SUBSCRIPTION_GROUP_NOT_EXIST.
Ignored: ``isForce``.
Differs: a topic of more than 32,768 queues is refused with SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#resetOffset, #resetOffsetInner (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.handlers.invoke_broker_to_reset_offset import reset_by_clients
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.pop.checks import check_queues
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.dispatch.outcomes import NULL
from fakemq.protocol.bodies.offset import ResetOffsetBody
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.offset import ResetOffsetRequestHeader5

_NONE = -1


@handles(table.INVOKE_BROKER_TO_RESET_OFFSET)
def invoke_broker_to_reset_offset(
    broker: Broker5, request: Request[ResetOffsetRequestHeader5]
) -> Steps[Reply[NoHeader]]:
    if not broker.config.use_server_side_reset_offset:
        return (yield from reset_by_clients(broker, request.command.language, request.header))
    header = request.header
    if broker.role.is_slave:
        raise Refused(ResponseCode.SYSTEM_ERROR, "Can not reset offset in slave broker")
    topic, group = header.topic, header.get("group", NULL)
    config = _existing(broker, topic, group)
    queue_id, offset, timestamp = header.queue_id, header.offset, header.timestamp
    said = offset if queue_id >= 0 and offset != _NONE else None
    offsets: dict[int, int] = {}
    if said is not None:
        _check_range(broker, topic, queue_id, said)
        offsets[queue_id] = said
    elif queue_id >= 0:
        offsets[queue_id] = _by_time(broker, topic, queue_id, timestamp)
    else:
        check_queues(config)
        queue_ids = range(config.read_queue_nums)
        for index in queue_ids:
            offsets[index] = _by_time(broker, topic, index, timestamp)
            yield
        # Else a queue that was deleted meanwhile would have an offset.
        left = _existing(broker, topic, group).read_queue_nums
        offsets = {index: offset for index, offset in offsets.items() if index < left}
    if not offsets:
        raise Refused(ResponseCode.SYSTEM_ERROR, "No queues to reset.")
    resets = broker.offset_resets
    for index, offset in offsets.items():
        to_ms = timestamp if said is None else None
        broker.offsets.note_reset(group, topic, index, offset, to_ms=to_ms, how="broker")
        resets.assign(topic, group, index, offset)
    name = broker.config.broker_name
    queues = {
        MessageQueue(topic=topic, broker_name=name, queue_id=index): offset
        for index, offset in offsets.items()
    }
    table = {queue: queues[queue] for queue in java_hash_map_order(queues)}
    return Reply(body=(yield from ResetOffsetBody(offset_table=table).encode_in_steps()))


def _existing(broker: Broker5, topic: str, group: str) -> TopicConfig:
    config = broker.topics.select(topic)
    if config is None:
        raise Refused(ResponseCode.TOPIC_NOT_EXIST, f"Topic {topic} does not exist")
    if group not in broker.groups:
        raise Refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} does not exist")
    return config


def _by_time(broker: Broker5, topic: str, queue_id: int, timestamp: int) -> int:
    if timestamp < 0:
        return broker.store.max_offset_in_queue(topic, queue_id)
    return broker.store.boundary_in_queue_by_time(topic, queue_id, timestamp)


def _check_range(broker: Broker5, topic: str, queue_id: int, offset: int) -> None:
    low = broker.store.min_offset_in_queue(topic, queue_id)
    high = broker.store.max_offset_in_queue(topic, queue_id)
    if (low >= 0 and offset < low) or offset > high + 1:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"Target offset {offset} not in consume queue range [{low}-{high}]",
        )
