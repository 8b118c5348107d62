"""What a broker of 5.5.0 does with a sent message besides `fakemq.broker.sending.send`.

Source: broker/processor/SendMessageProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.config.v5.model import config5
from fakemq.dispatch.answers import REJECTED, Refused, Thrown
from fakemq.dispatch.outcomes import required
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_bool, parse_int, parse_long
from fakemq.protocol.properties import (
    CLUSTER,
    DELAY_TIME_LEVEL,
    INNER_MULTI_DISPATCH,
    INNER_NUM,
    LITE_TOPIC,
    MSG_REGION,
    POP_CK,
    PRIORITY,
    REAL_TOPIC,
    SHARDING_KEY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_OUT_MS,
    TRACE_SWITCH,
    TRANSACTION_PREPARED,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.timers import RecallHandle
from fakemq.protocol.topics import RETRY_PREFIX
from fakemq.protocol.v5.codes import ResponseCode5
from fakemq.protocol.v5.properties import encode_properties
from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.broker.broker import Broker, SendRequest
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.protocol.bodies.topic import TopicConfig
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.store import MessageStore

TRANSACTION_ID: Final = "__transactionId__"
_REPLIES: Final = (RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2)
_OTHER_TYPES: Final = (
    DELAY_TIME_LEVEL,
    TIMER_DELIVER_MS,
    TIMER_DELAY_SEC,
    TIMER_DELAY_MS,
    SHARDING_KEY,
)
"""A message with one of these is no message with a priority."""


def check_takes_messages(broker: Broker) -> None:
    """Raise Refused at a slave; what a fenced one or one that may act as master is sent, its store
    refuses.

    Source: SendMessageProcessor.java#rejectRequest (5.5.0)
    """
    role = broker.role
    if role.is_slave and not (role.fenced or broker.config.has_acting_master):
        raise Refused(ResponseCode.SYSTEM_BUSY, REJECTED)


def check_sent(broker: Broker, request: SendRequest) -> None:
    """Raise NullFieldError for a request without a body; one that is no reply needs a topic, too.

    Raise Refused at a slave, for what is no reply.
    Source: SendMessageProcessor.java#processRequest,
    AbstractSendMessageProcessor.java#buildMsgContext (5.5.0)
    """
    if request.command.code not in _REPLIES:
        check_takes_messages(broker)
        _ = request.header.topic
    required(request.command.body or None, "RemotingCommand", "body")


def check_batch(config: BrokerConfig5, request: SendRequest) -> None:
    """Raise Refused for a batch to a retry topic, or one that is too long.

    Source: SendMessageProcessor.java#sendBatchMessage, store/MessageExtEncoder.java#encode (5.5.0)
    """
    topic = request.header.topic
    if topic.startswith(RETRY_PREFIX):
        raise Refused(
            ResponseCode.MESSAGE_ILLEGAL, f"batch request does not support retry group {topic}"
        )
    if len(request.command.body) > config.max_message_size:
        raise Thrown(
            "java.lang.RuntimeException: message body size exceeded,"
            " org.apache.rocketmq.store.MessageExtEncoder.encode(MessageExtEncoder.java:290)"
        )


def prepare(broker: Broker, message: InnerMessage, config: TopicConfig) -> None:
    """Give a message a unique key if it has none, and the queue of its priority if it has one.

    One with a lite topic names the light queue of that, whatever its own topic is for. Region and
    trace switch are stored, too, and for a half message its transaction id, but no handle of a pop.
    Source: SendMessageProcessor.java#clearReservedProperties, #sendMessage,
    broker/transaction/queue/TransactionalMessageBridge.java#parseHalfMessageInner (5.5.0)
    """
    properties = message.properties
    cluster = properties.pop(CLUSTER)  # Java puts it behind what follows
    mark(broker, properties)
    properties.pop(POP_CK, None)
    if not properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX):
        properties[UNIQ_CLIENT_MESSAGE_ID_KEYIDX] = broker.unique_ids.create(broker.clock.now_ms())
    lite = properties.get(LITE_TOPIC)
    if lite and broker.reference.has_lite_topics:
        from fakemq.protocol.v5.lite import lite_queue  # most messages have none

        # A send without a topic is refused before.
        properties[INNER_MULTI_DISPATCH] = lite_queue(message.topic, lite) or ""
    is_half = parse_bool(properties.get(TRANSACTION_PREPARED, ""))
    priority = _priority(properties)
    if priority >= 0 and broker.reference.has_priorities:
        if is_half or any(name in properties for name in _OTHER_TYPES):
            del properties[PRIORITY]
        else:
            message.queue_id = min(priority, config.write_queue_nums - 1)
    properties[CLUSTER] = cluster
    _check_inner_batch(broker, message)
    if INNER_MULTI_DISPATCH in properties and broker.config.limits_light_queues:
        _check_light_quota(broker, message)
    message.properties_string = encode_properties(properties)
    if is_half:  # its text is made again
        properties[TRANSACTION_ID] = properties[UNIQ_CLIENT_MESSAGE_ID_KEYIDX]


def prepare_batch(store: MessageStore, batch: InnerMessage) -> PutMessageStatus | None:
    """Send a batch that has a time of its own to the timer topic; return why it is refused.

    Members have their own properties, which do not say when they are due. So none is ever
    delivered: the timers drop each with a line. Differs: Java's timers stop at the first one, for
    ever.
    Source: store/DefaultMessageStore.java#asyncPutMessages, broker/util/HookUtils.java
    #handleScheduleMessage (5.5.0)
    """
    status = None
    if store.divert is not None and not store.role.is_slave:
        status = store.divert(batch)
    return status


def prepare_reply(broker: Broker, message: InnerMessage) -> None:
    """Give a reply region and trace switch, which are pushed and stored with it."""
    mark(broker, message.properties)
    message.properties_string = encode_properties(message.properties)


def _check_inner_batch(broker: Broker, message: InnerMessage) -> None:
    """Raise Refused for what claims to be several messages in one: no queue takes such.

    Source: broker/util/HookUtils.java#checkInnerBatch (5.5.0)
    """
    if INNER_NUM in message.properties or message.sys_flag & MessageSysFlag.INNER_BATCH:
        raise Refused(
            ResponseCode.MESSAGE_ILLEGAL,
            "the message is illegal, maybe msg body or properties length not matched."
            f" msg body length limit {broker.config.max_message_size}B,"
            " msg properties length limit 32KB.",
        )


def _check_light_quota(broker: Broker, message: InnerMessage) -> None:
    """Raise Refused for a message that names a light queue which would be one too many.

    Source: broker/util/HookUtils.java#handleLmqQuota (5.5.0)
    """
    from fakemq.store.light_queues import LightRule, light_names  # few messages name queues

    config = config5(broker.config)
    rule = LightRule.of(config)
    if not (config.enable_lmq_quota and rule.lmq and rule.multi_dispatch):
        return
    queues = broker.store.queues
    if queues.light_count < config.max_lmq_consume_queue_num or not rule.takes(message.topic):
        return
    if any(queues.find(name, 0) is None for name in light_names(message.properties)):
        raise Refused(
            ResponseCode5.LMQ_QUOTA_EXCEEDED,
            "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]lmq consume queue num exceeded.",
        )


def mark(broker: Broker, properties: dict[str, str]) -> None:
    """Put region and trace switch among the properties of a message.

    Source: AbstractSendMessageProcessor.java#buildMsgContext (5.5.0)
    """
    properties[MSG_REGION] = broker.config.region_id
    properties[TRACE_SWITCH] = "true" if broker.config.trace_on else "false"


def _priority(properties: Mapping[str, str]) -> int:
    """Return the priority of a message; -1 if it has none, or no number."""
    try:
        return parse_int(properties.get(PRIORITY, "-1"))
    except NumberFormatError:
        return -1


def answer_fields(broker: Broker, code: int, message: InnerMessage) -> dict[str, str]:
    """Return the unique key, and the handle to recall a timer message.

    Source: SendMessageProcessor.java#handlePutMessageResult, #attachRecallHandle (5.5.0)
    """
    properties, fields = message.properties, dict[str, str]()
    unique_key = properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX)
    if unique_key is not None:
        fields["transactionId"] = unique_key
    if _priority(properties) >= 0 and broker.reference.has_priorities:
        fields["queueId"] = str(message.queue_id)
    due_ms, topic = properties.get(TIMER_OUT_MS), properties.get(REAL_TOPIC)
    if (
        code != RequestCode.SEND_BATCH_MESSAGE
        and due_ms is not None
        and topic is not None
        and not topic.startswith(RETRY_PREFIX)
    ):
        # Deletions must come into the same slot: the time of the slot would be in the one before.
        handle = RecallHandle(
            topic, broker.config.broker_name, str(parse_long(due_ms) + 1), unique_key or "null"
        )
        fields["recallHandle"] = handle.encode()
    return fields


def refusal(config: BrokerConfig5, status: PutMessageStatus) -> Refused:
    """Return the refusal of a put, with a status that only 5.5.0 has, in Java's words.

    Source: SendMessageProcessor.java#handlePutMessageResult (5.5.0)
    """
    if status is PutMessageStatus.IN_SYNC_REPLICAS_NOT_ENOUGH:
        return Refused(ResponseCode.SYSTEM_ERROR, "in-sync replicas not enough")
    if status is PutMessageStatus.WHEEL_TIMER_MSG_ILLEGAL:
        return Refused(
            ResponseCode.MESSAGE_ILLEGAL,
            "timer message illegal, the delay time should not be bigger than the max delay"
            f" {config.timer_max_delay_sec * 1000}ms; or if set del msg, the delay time should be"
            " bigger than the current time",
        )
    if status is PutMessageStatus.WHEEL_TIMER_FLOW_CONTROL:
        limit = config.timer_congest_num_each_slot
        return Refused(
            ResponseCode.SYSTEM_ERROR,
            f"timer message is under flow control, max num limit is {limit * 2} or the current"
            f" value is greater than {limit} and less than {limit * 2},"
            " trigger random flow control",
        )
    enabled = "true" if config.timer_wheel_enable else "false"
    return Refused(
        ResponseCode.SYSTEM_ERROR,
        f"accurate timer message is not enabled, timerWheelEnable is {enabled}",
    )
