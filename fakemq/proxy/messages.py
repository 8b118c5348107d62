"""A stored message as a client of the front receives it.

Source: proxy/grpc/v2/common/GrpcConverter.java (5.5.0)
"""

from __future__ import annotations

from hashlib import md5
from typing import TYPE_CHECKING, Final

from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.grpc.messages import (
    DeadLetterQueue,
    Digest,
    Message,
    Resource,
    SystemProperties,
)
from fakemq.protocol.header import parse_int, parse_long
from fakemq.protocol.java import int32
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    KEYS,
    LITE_TOPIC,
    POP_CK,
    PRIORITY,
    SHARDING_KEY,
    TAGS,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TRANSACTION_PREPARED,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.proxy.status import Code, proxy_error
from fakemq.proxy.times import timestamp_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.protocol.message import MessageExt

BORN_HOST: Final = "__BORNHOST"
BORN_TIMESTAMP: Final = "BORN_TIMESTAMP"
TRACE_CONTEXT: Final = "TRACE_CONTEXT"
DLQ_ORIGIN_TOPIC: Final = "DLQ_ORIGIN_TOPIC"
DLQ_ORIGIN_MESSAGE_ID: Final = "DLQ_ORIGIN_MESSAGE_ID"

RESERVED: Final = frozenset(
    (
        *("TRACE_ON", "MSG_REGION", "KEYS", "TAGS", "WAIT", "DELAY", "RETRY_TOPIC"),
        *("ORIGIN_GROUP", "REAL_TOPIC", "REAL_QID", "TRAN_MSG", "PGROUP", "MIN_OFFSET"),
        *("MAX_OFFSET", "BUYER_ID", "ORIGIN_MESSAGE_ID", "TRANSFER_FLAG", "CORRECTION_FLAG"),
        *("MQ2_FLAG", "RECONSUME_TIME", "UNIQ_KEY", "MAX_RECONSUME_TIMES"),
        *("CONSUME_START_TIME", "POP_CK", "POP_CK_OFFSET", "1ST_POP_TIME"),
        *("TRAN_PREPARED_QUEUE_OFFSET", "DUP_INFO", "EXTEND_UNIQ_INFO", "INSTANCE_ID"),
        *("CORRELATION_ID", "REPLY_TO_CLIENT", "TTL", "ARRIVE_TIME", "PUSH_REPLY_TIME"),
        *("CLUSTER", "MSG_TYPE", "INNER_MULTI_QUEUE_OFFSET", "TIMER_DELAY_MS"),
        *("TIMER_DELAY_SEC", "TIMER_DELIVER_MS", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS"),
        *("TIMER_ROLL_TIMES", "TIMER_OUT_MS", "TIMER_DEL_UNIQKEY", "TIMER_DELAY_LEVEL"),
        *("__BORNHOST", "BORN_TIMESTAMP", "DLQ_ORIGIN_TOPIC", "DLQ_ORIGIN_MESSAGE_ID"),
        *("__CRC32#", "_SYS_MSG_PRIORITY_", "__LITE_TOPIC"),
    )
)
"""The properties that RocketMQ uses itself: no client sends or receives them as its own.

Source: common/message/MessageConst.java#STRING_HASH_SET (5.5.0)
"""

_NORMAL, _FIFO, _DELAY, _TRANSACTION, _LITE, _PRIORITY = 1, 2, 3, 4, 5, 6
_TYPES: Final = {
    "NORMAL": _NORMAL,
    "FIFO": _FIFO,
    "DELAY": _DELAY,
    "TRANSACTION": _TRANSACTION,
    "LITE": _LITE,
    "PRIORITY": _PRIORITY,
}
_IDENTITY, _GZIP = 1, 2
_MD5: Final = 2
_COMPRESSED: Final = int(MessageSysFlag.COMPRESSED)


def message_type(properties: Mapping[str, str]) -> str:
    """Return the type of a message, by its properties.

    Source: common/attribute/TopicMessageType.java#parseFromMessageProperty (5.5.0)
    """
    if properties.get(TRANSACTION_PREPARED, "").lower() == "true":
        return "TRANSACTION"
    if (
        TIMER_DELIVER_MS in properties
        or DELAY_TIME_LEVEL in properties
        or TIMER_DELAY_SEC in properties
        or TIMER_DELAY_MS in properties
    ):
        return "DELAY"
    if SHARDING_KEY in properties:
        return "FIFO"
    if PRIORITY in properties:
        return "PRIORITY"
    if LITE_TOPIC in properties:
        return "LITE"
    return "NORMAL"


def check_type(expected: str, actual: str) -> None:
    """Raise RpcError if a topic does not take messages of a type.

    Source: proxy/processor/validator/DefaultTopicMessageTypeValidator.java (5.5.0)
    """
    if actual != expected and expected != "MIXED":
        raise proxy_error(
            Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
            f"TopicMessageType validate failed, the expected type is {expected},"
            f" but actual type is {actual}",
        )


def received_message(stored: MessageExt, now_ms: int, topic: str | None = None) -> Message:
    """Return a message for a client; ``topic`` replaces that of its record."""
    properties = stored.properties
    value_of = properties.get
    body = stored.body
    system = SystemProperties(
        message_id=value_of(UNIQ_CLIENT_MESSAGE_ID_KEYIDX) or stored.offset_msg_id,
        body_digest=Digest(
            type=_MD5,  # type: ignore[arg-type]
            checksum=md5(body, usedforsecurity=False).hexdigest().upper(),
        ),
        body_encoding=_GZIP if stored.sys_flag & _COMPRESSED else _IDENTITY,  # type: ignore[arg-type]
        message_type=_TYPES[message_type(properties)],  # type: ignore[arg-type]
        born_timestamp=timestamp_of(stored.born_timestamp_ms),
        born_host=value_of(BORN_HOST) or stored.born_host[0],
        store_timestamp=timestamp_of(stored.store_timestamp_ms),
        store_host=_address(stored.store_host),
        queue_id=stored.queue_id,
        queue_offset=stored.queue_offset,
        delivery_attempt=int32(stored.reconsume_times + 1),  # a sender may say any number
        tag=value_of(TAGS),
        message_group=value_of(SHARDING_KEY),
        lite_topic=value_of(LITE_TOPIC),
        receipt_handle=value_of(POP_CK),
        trace_context=value_of(TRACE_CONTEXT),
    )
    keys = value_of(KEYS)
    if keys is not None:
        system.keys.extend(_split(keys))
    _set_delivery(system, properties, now_ms)
    priority = value_of(PRIORITY)
    if priority is not None:
        _set_priority(system, priority)
    origin, origin_id = value_of(DLQ_ORIGIN_TOPIC), value_of(DLQ_ORIGIN_MESSAGE_ID)
    if origin is not None and origin_id is not None:
        system.dead_letter_queue.CopyFrom(DeadLetterQueue(topic=origin, message_id=origin_id))
    return Message(
        topic=Resource(name=stored.topic if topic is None else topic),
        user_properties={name: value for name, value in properties.items() if name not in RESERVED},
        system_properties=system,
        body=body,
    )


def _split(keys: str) -> list[str]:
    words = keys.split(" ")
    while len(words) > 1 and not words[-1]:
        words.pop()  # as Java's split
    return words


def _address(host: tuple[str, int]) -> str:
    name, port = host
    return f"{name}:{port}"


def _set_delivery(system: SystemProperties, properties: Mapping[str, str], now_ms: int) -> None:
    try:
        seconds = properties.get(TIMER_DELAY_SEC)
        if seconds is not None:
            system.delivery_timestamp.CopyFrom(timestamp_of(now_ms + parse_long(seconds) * 1000))
            return
        at_ms = properties.get(TIMER_DELIVER_MS)
        if at_ms is not None:
            system.delivery_timestamp.CopyFrom(timestamp_of(parse_long(at_ms)))
    except (NumberFormatError, ValueError, OverflowError):
        return  # a message that another client has sent: Java fails to deliver it at all


def _set_priority(system: SystemProperties, text: str) -> None:
    try:
        priority = parse_int(text)
    except NumberFormatError:
        return
    if priority >= 0:
        system.priority = priority
