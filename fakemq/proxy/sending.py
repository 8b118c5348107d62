"""The properties of a message that a client sends: checked in Java's order, and made.

Source: proxy/grpc/v2/producer/SendMessageActivity.java#buildMessageProperty (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fakemq.protocol.properties import (
    CHECK_IMMUNITY_TIME_IN_SECONDS,
    KEY_SEPARATOR,
    KEYS,
    LITE_TOPIC,
    PRIORITY,
    PRODUCER_GROUP,
    RECONSUME_TIME,
    SHARDING_KEY,
    TAGS,
    TIMER_DELIVER_MS,
    TRANSACTION_PREPARED,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from fakemq.proxy.checks import check_lite_topic, has_control_character, is_blank
from fakemq.proxy.messages import (
    BORN_HOST,
    BORN_TIMESTAMP,
    RESERVED,
    TRACE_CONTEXT,
)
from fakemq.proxy.settings import MESSAGE_MAX_BYTES
from fakemq.proxy.status import Code, RpcError, java_error
from fakemq.proxy.times import check_duration, is_valid, timestamp_ms

if TYPE_CHECKING:
    from fakemq.protocol.grpc.messages import Message

# Source: proxy/config/ProxyConfig.java (5.5.0)
_PROPERTIES_MAX: Final = 128
_PROPERTIES_MAX_BYTES: Final = 16_384
_GROUP_MAX_BYTES: Final = 64
_DELAY_MAX_MS: Final = 86_400_000
_RECOVERY_MAX_S: Final = 3_600

TRANSACTION: Final = 4
GZIP: Final = 2

_CHECKS: Final = {
    "body empty": (Code.MESSAGE_BODY_EMPTY, "message body cannot be empty"),
    "body large": (
        Code.MESSAGE_BODY_TOO_LARGE,
        f"message body cannot exceed the max {MESSAGE_MAX_BYTES}",
    ),
    "many properties": (
        Code.MESSAGE_PROPERTIES_TOO_LARGE,
        f"too many user properties, max is {_PROPERTIES_MAX}",
    ),
    "reserved property": (Code.ILLEGAL_MESSAGE_PROPERTY_KEY, "property is used by system: {}"),
    "control in name": (
        Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
        "the key of property cannot contain control character",
    ),
    "control in value": (
        Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
        "the value of property cannot contain control character",
    ),
    "blank tag": (Code.ILLEGAL_MESSAGE_TAG, "tag cannot be the char sequence of whitespace"),
    "bar in tag": (Code.ILLEGAL_MESSAGE_TAG, "tag cannot contain '|'"),
    "control in tag": (Code.ILLEGAL_MESSAGE_TAG, "tag cannot contain control character"),
    "blank key": (Code.ILLEGAL_MESSAGE_KEY, "key cannot be the char sequence of whitespace"),
    "control in key": (Code.ILLEGAL_MESSAGE_KEY, "key cannot contain control character"),
    "large properties": (
        Code.MESSAGE_PROPERTIES_TOO_LARGE,
        f"the total size of user property is too large, max is {_PROPERTIES_MAX_BYTES}",
    ),
    "no id": (Code.ILLEGAL_MESSAGE_ID, "message id cannot be empty"),
    "long recovery": (
        Code.BAD_REQUEST,
        f"the max transaction recovery time of message is too large, max is {_RECOVERY_MAX_S}",
    ),
    "far delivery": (
        Code.ILLEGAL_DELIVERY_TIME,
        f"the max delay time of message is too large, max is {_DELAY_MAX_MS}",
    ),
    "blank group": (
        Code.ILLEGAL_MESSAGE_GROUP,
        "message group cannot be the char sequence of whitespace",
    ),
    "long group": (
        Code.ILLEGAL_MESSAGE_GROUP,
        f"message group exceed the max size {_GROUP_MAX_BYTES}",
    ),
    "control in group": (
        Code.ILLEGAL_MESSAGE_GROUP,
        "message group cannot contain control character",
    ),
}
"""What is wrong with a message → code and text of the answer."""


def _wrong(what: str, *values: str) -> RpcError:
    code, text = _CHECKS[what]
    return RpcError(code, text.format(*values))


def check_body(body: bytes) -> None:
    """Raise RpcError for a body that is empty or too large."""
    if not body:
        raise _wrong("body empty")
    if len(body) > MESSAGE_MAX_BYTES:
        raise _wrong("body large")


def properties_of(message: Message, topic: str, now_ms: int, remote_addr: str) -> dict[str, str]:
    """Return the properties of a message; raise RpcError for the first that is wrong."""
    system = message.system_properties
    properties: dict[str, str] = {}
    size_bytes = 0
    if message.user_properties:
        if len(message.user_properties) > _PROPERTIES_MAX:
            raise _wrong("many properties")
        properties.update(message.user_properties)
        size_bytes = _checked_size_bytes(properties)
    tag = system.tag
    if tag:
        _check_tag(tag)
        properties[TAGS] = tag
        size_bytes += _size_bytes(tag)
    keys = system.keys
    if keys:
        if len(keys) > _PROPERTIES_MAX_BYTES:  # empty ones count, too: blanks are between them
            raise _wrong("large properties")
        for key in keys:
            if key:
                _check_key(key)
                size_bytes += _size_bytes(key)
        properties[KEYS] = KEY_SEPARATOR.join(keys)
    if size_bytes > _PROPERTIES_MAX_BYTES:
        raise _wrong("large properties")
    message_id = system.message_id
    if is_blank(message_id):
        raise _wrong("no id")
    properties[UNIQ_CLIENT_MESSAGE_ID_KEYIDX] = message_id
    if system.message_type == TRANSACTION:
        properties[TRANSACTION_PREPARED] = "true"
        if system.HasField("orphaned_transaction_recovery_duration"):
            properties[CHECK_IMMUNITY_TIME_IN_SECONDS] = _recovery(system)
    if system.HasField("delivery_timestamp"):
        at_ms = timestamp_ms(system.delivery_timestamp)
        if at_ms - now_ms > _DELAY_MAX_MS:
            raise _wrong("far delivery")
        properties[TIMER_DELIVER_MS] = str(at_ms)
    if system.HasField("priority"):
        if system.priority < 0:
            raise java_error(
                "The priority must be greater than or equal to 0",
                "IllegalArgumentException",
                "org.apache.rocketmq.common.message.Message.setPriority(Message.java:161)",
            )
        properties[PRIORITY] = str(system.priority)
    properties[RECONSUME_TIME] = str(system.delivery_attempt)
    properties[PRODUCER_GROUP] = topic  # the front is asked about transactions by this group
    group = system.message_group
    if group:
        _check_group(group)
        properties[SHARDING_KEY] = group
    if system.lite_topic:
        check_lite_topic(system.lite_topic)
        properties[LITE_TOPIC] = system.lite_topic
    if system.trace_context:
        properties[TRACE_CONTEXT] = system.trace_context
    host = system.born_host
    if is_blank(host):
        host = remote_addr
    properties[BORN_HOST] = host
    if is_valid(system.born_timestamp):
        properties[BORN_TIMESTAMP] = str(timestamp_ms(system.born_timestamp))
    return properties


def _checked_size_bytes(properties: dict[str, str]) -> int:
    size_bytes = 0
    for name, value in properties.items():
        if name in RESERVED:
            raise _wrong("reserved property", name)
        if has_control_character(name):
            raise _wrong("control in name")
        if has_control_character(value):
            raise _wrong("control in value")
        size_bytes += _size_bytes(name) + _size_bytes(value)
    return size_bytes


def _check_tag(tag: str) -> None:
    if is_blank(tag):
        raise _wrong("blank tag")
    if "|" in tag:
        raise _wrong("bar in tag")
    if has_control_character(tag):
        raise _wrong("control in tag")


def _check_key(key: str) -> None:
    if is_blank(key):
        raise _wrong("blank key")
    if has_control_character(key):
        raise _wrong("control in key")


def _check_group(group: str) -> None:
    if is_blank(group):
        raise _wrong("blank group")
    if _size_bytes(group) >= _GROUP_MAX_BYTES:
        raise _wrong("long group")
    if has_control_character(group):
        raise _wrong("control in group")


def _recovery(system: Any) -> str:
    duration = system.orphaned_transaction_recovery_duration
    check_duration(duration)
    if duration.seconds > _RECOVERY_MAX_S:
        raise _wrong("long recovery")
    return str(duration.seconds)


def _size_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
