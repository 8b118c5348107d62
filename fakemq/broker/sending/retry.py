"""Messages that a consumer returns: they go to the retry topic, and in the end to the DLQ.

Source: broker/processor/SendMessageProcessor.java#asyncConsumerSendMsgBack, #handleRetryAndDLQ
(4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.dispatch.answers import Refused, Thrown
from fakemq.events.core import DeadLettered, SentBack
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.java import int32
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    ORIGIN_MESSAGE_ID,
    RETRY_TOPIC,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    WAIT_STORE_MSG_OK,
)
from fakemq.protocol.sysflag import PermName, TopicSysFlag
from fakemq.protocol.topics import FAQ, RETRY_PREFIX, dlq_topic, retry_topic
from fakemq.protocol.versions import V3_4_9
from fakemq.store.inner_message import InnerMessage

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker, SendRequest
    from fakemq.protocol.bodies.group import SubscriptionGroupConfig
    from fakemq.protocol.bodies.topic import TopicConfig
    from fakemq.protocol.command import RemotingCommand
    from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
    from fakemq.protocol.message import MessageExt
    from fakemq.store.puts import PutMessageResult

DLQ_NUMS_PER_GROUP = 1
FIRST_RETRY_LEVEL = 3
"""The delay level of the first retry; each further one has the next level."""


def send_back(
    broker: Broker, command: RemotingCommand, header: ConsumerSendMsgBackRequestHeader
) -> None:
    """Put the message at ``header.offset`` into its group's retry topic or DLQ, or refuse it.

    For a group without retry queues the message is lost, and the answer is SUCCESS.
    """
    group = _group(broker, header.group)
    if not broker.config.broker_permission & PermName.WRITE:
        raise Refused(
            ResponseCode.NO_PERMISSION,
            f"the broker[{broker.config.broker_ip1}] sending message is forbidden",
        )
    if group.retry_queue_nums <= 0:
        return
    topic = retry_topic(header.group)
    queue_id = broker.randomness.randrange(group.retry_queue_nums)
    config = broker.topics.create_in_send_back(
        topic,
        group.retry_queue_nums,
        topic_sys_flag=TopicSysFlag.UNIT_SUB if header.unit_mode else 0,
    )
    if not config.perm & PermName.WRITE:
        raise Refused(
            ResponseCode.NO_PERMISSION, f"the topic[{topic}] sending message is forbidden"
        )
    stored = broker.store.look_message_by_offset(header.offset)
    if stored is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {header.offset}")
    level = header.delay_level
    dead = level < 0 or stored.reconsume_times >= _most_tries(
        command, header.max_reconsume_times, group
    )
    if dead:
        if broker.reference.v5_dead_letters and header.origin_topic is None:
            raise Thrown("java.lang.NullPointerException")  # Java counts them by this field
        topic, queue_id, level = dlq_topic(header.group), 0, 0
        broker.topics.create_in_send_back(topic, DLQ_NUMS_PER_GROUP)
    elif level == 0:
        level = int32(FIRST_RETRY_LEVEL + stored.reconsume_times)
    message = _another_try(broker, stored, topic, queue_id, level)
    result = broker.put(message)
    if not result.ok:
        raise Refused(ResponseCode.SYSTEM_ERROR, result.why)
    broker.stats.sent_back(
        header.group,
        stored.properties.get(RETRY_TOPIC, stored.topic),
        message.topic,
        message.queue_id,
        0 if result.append_result is None else result.append_result.wrote_bytes,
    )
    if dead:
        dead_lettered(broker, header.group, message, result, stored.commit_log_offset)
    else:
        _sent_back(broker, header.group, message, result, stored.commit_log_offset)


def _another_try(
    broker: Broker, stored: MessageExt, topic: str, queue_id: int, level: int
) -> InnerMessage:
    properties = dict(stored.properties)
    # The order of insertion counts if two names share a bucket of Java's map.
    properties.setdefault(RETRY_TOPIC, stored.topic)
    properties[WAIT_STORE_MSG_OK] = "false"
    properties[DELAY_TIME_LEVEL] = str(level)
    if not properties.get(ORIGIN_MESSAGE_ID, "").strip():
        properties[ORIGIN_MESSAGE_ID] = stored.offset_msg_id
    message = InnerMessage.of(
        stored, topic, queue_id, properties, broker.reference.encode_properties
    )
    message.reconsume_times = int32(stored.reconsume_times + 1)
    return message


def dead_letter_topic(broker: Broker, request: SendRequest) -> tuple[str, TopicConfig] | None:
    """Return the DLQ of a send to a retry topic whose tries are used up; None if some are left.

    Clients send there what they could not send back (code 36). With 4.9.7 the delay level stays, so
    that a dead letter may be delayed: Java clears the level before it sets the properties.
    Source: SendMessageProcessor.java#handleRetryAndDLQ (4.9.7, 5.5.0)
    """
    header = request.header
    name = header.topic.removeprefix(RETRY_PREFIX)
    tries = _most_tries(request.command, header.max_reconsume_times, _group(broker, name))
    if broker.reference.v5_dead_letters:
        if (header.reconsume_times or 0) <= tries and not broker.locks.has_unexpired(name):
            return None
    elif (header.reconsume_times or 0) < tries:
        return None
    topic = dlq_topic(name)
    return topic, broker.topics.create_in_send_back(topic, DLQ_NUMS_PER_GROUP)


def dead_lettered(
    broker: Broker,
    group: str,
    message: InnerMessage,
    result: PutMessageResult,
    from_phy_offset: int | None = None,
) -> None:
    """Write to the journal that a stored message is in the DLQ, or is delayed on its way there."""
    if result.append_result is not None:
        broker.journal.add(
            DeadLettered(
                node=broker.name,
                group=group,
                reconsume_times=message.reconsume_times,
                from_phy_offset=from_phy_offset,
                phy_offset=result.append_result.wrote_offset,
                origin_msg_id=message.properties.get(ORIGIN_MESSAGE_ID, ""),
                msg_id=message.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""),
            )
        )


def _sent_back(
    broker: Broker,
    group: str,
    message: InnerMessage,
    result: PutMessageResult,
    from_phy_offset: int,
) -> None:
    if result.append_result is not None:
        broker.journal.add(
            SentBack(
                node=broker.name,
                group=group,
                level=int(message.properties[DELAY_TIME_LEVEL]),
                reconsume_times=message.reconsume_times,
                from_phy_offset=from_phy_offset,
                phy_offset=result.append_result.wrote_offset,
                origin_msg_id=message.properties[ORIGIN_MESSAGE_ID],
                msg_id=message.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""),
            )
        )


def _group(broker: Broker, name: str) -> SubscriptionGroupConfig:
    config = broker.groups.find(name)
    if config is None:
        raise Refused(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
            f"subscription group not exist, {name} {FAQ}",
        )
    return config


def _most_tries(
    command: RemotingCommand, asked_for: int | None, group: SubscriptionGroupConfig
) -> int:
    # The headers of older clients do not count.
    if command.version >= V3_4_9 and asked_for is not None:
        return asked_for
    return group.retry_max_times
