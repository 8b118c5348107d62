"""What the front checks of names and times before it asks a broker.

Source: proxy/grpc/v2/common/GrpcValidator.java, client/Validators.java,
common/topic/TopicValidator.java (5.5.0)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from google.protobuf.message import Message

from fakemq.protocol.limits import ATTEMPT_ID_MAX_CHARS, ATTEMPT_ID_TOO_LONG, SUBSCRIPTION_MAX_CHARS
from fakemq.protocol.topics import SYSTEM_TOPICS
from fakemq.proxy.status import Code, RpcError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fakemq.clock.slices import Steps
    from fakemq.protocol.grpc.messages import Endpoints, FilterExpression, Resource

TOPIC_MAX_CHARS: Final = 127
GROUP_MAX_CHARS: Final = 120
LITE_TOPIC_MAX_BYTES: Final = 64
INVISIBLE_MAX_MS: Final = 43_200_000
"""maxInvisibleTimeMills, 12 h. Source: proxy/config/ProxyConfig.java (5.5.0)"""
RECEIVE_INVISIBLE_MIN_MS: Final = 10_000
"""minInvisibleTimeMillsForRecv"""

_PATTERN: Final = "^[%|a-zA-Z0-9_-]+$"
_is_legal: Final = re.compile(r"[%|a-zA-Z0-9_-]+").fullmatch
_is_lite: Final = re.compile(r"[a-zA-Z0-9_-]+").fullmatch
_control_character: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]").search
_SYSTEM_TOPICS: Final = frozenset(
    {
        *SYSTEM_TOPICS,
        "CHECKPOINT_TOPIC",
        "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
        "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
    }
)
_JAVA_BLANKS: Final = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009"
    "\u200a\u2028\u2029\u205f\u3000"
)
"""What Character.isWhitespace takes."""


def is_blank(text: str) -> bool:
    """Return whether a text has nothing but blanks, as StringUtils.isBlank says."""
    return not text.strip(_JAVA_BLANKS)


def has_control_character(text: str) -> bool:
    """Return whether a text has a character that Java calls an ISO control."""
    return not text.isprintable() and _control_character(text) is not None


MOST_ENTRIES: Final = 10_000
"""The messages or handles of one request, and the topics of a client; Java has no limit."""
ANSWER_MAX_BYTES: Final = 16 * 1024 * 1024
"""What an answer repeats of a request, at most; Java has no limit."""


def check_count(count: int, what: str) -> None:
    """Raise RpcError for a request with too many of something."""
    if count > MOST_ENTRIES:
        text = f"fakemq takes no more than {MOST_ENTRIES} {what} at once"
        raise RpcError(Code.BAD_REQUEST, text)


def count_parts(message: Message) -> Steps[int]:
    """Count how many repeated fields a message has, and those in it; raise RpcError for too many.

    An empty one has two bytes on its way, and 80 in memory.
    """
    count, left = 0, [message]
    while left:
        for _, value in left.pop().ListFields():
            if isinstance(value, Message):
                left.append(value)
            elif not isinstance(value, (str, bytes, int, float)):
                count += len(value)
                check_count(count, "parts of a message")
                left += [one for one in value if isinstance(one, Message)]
        yield
    return count


def check_queues(count: int, topic: Resource, endpoints: Endpoints) -> None:
    """Raise RpcError for a topic with more queues than one answer lists.

    The answer has ``topic`` and ``endpoints``, which are the caller's words, for each of them.
    """
    if count > MOST_ENTRIES:
        text = f"the topic has {count} queues; fakemq lists no more than {MOST_ENTRIES}"
        raise RpcError(Code.BAD_REQUEST, text)
    size_bytes = count * (topic.ByteSize() + endpoints.ByteSize())
    if size_bytes > ANSWER_MAX_BYTES:
        text = f"an answer of {size_bytes} bytes; fakemq writes no more than {ANSWER_MAX_BYTES}"
        raise RpcError(Code.BAD_REQUEST, text)


def check_expressions(expressions: Iterable[FilterExpression]) -> None:
    """Raise RpcError for filters that take too long to read, all together."""
    if sum(len(one.expression) for one in expressions) > SUBSCRIPTION_MAX_CHARS:
        text = f"fakemq reads no subscription of over {SUBSCRIPTION_MAX_CHARS} characters"
        raise RpcError(Code.ILLEGAL_FILTER_EXPRESSION, text)


def check_attempt_id(text: str) -> None:
    """Raise RpcError for an id of an attempt that is too long to be kept with a queue."""
    if len(text) > ATTEMPT_ID_MAX_CHARS:
        raise RpcError(Code.BAD_REQUEST, ATTEMPT_ID_TOO_LONG)


def checked_topic(topic: Resource) -> str:
    """Return the name of a topic; raise RpcError if no client may use it."""
    name = topic.name
    if is_blank(name):
        raise RpcError(Code.ILLEGAL_TOPIC, "The specified topic is blank")
    if utf16_chars(name) > TOPIC_MAX_CHARS:
        raise RpcError(
            Code.ILLEGAL_TOPIC,
            f"The specified topic is longer than topic max length {TOPIC_MAX_CHARS}.",
        )
    if not _is_legal(name):
        raise RpcError(
            Code.ILLEGAL_TOPIC,
            f"The specified topic[{name}] contains illegal characters, allowing only {_PATTERN}",
        )
    if name in _SYSTEM_TOPICS or name.startswith("rmq_sys_"):
        raise RpcError(Code.ILLEGAL_TOPIC, "cannot access system topic")
    return name


def checked_group(group: Resource) -> str:
    """Return the name of a consumer group; raise RpcError if no client may use it."""
    name = group.name
    if is_blank(name):
        raise RpcError(Code.ILLEGAL_CONSUMER_GROUP, "the specified group is blank")
    if utf16_chars(name) > GROUP_MAX_CHARS:
        raise RpcError(
            Code.ILLEGAL_CONSUMER_GROUP,
            f"the specified group[{name}] is longer than group max length: {GROUP_MAX_CHARS}.",
        )
    if not _is_legal(name):
        raise RpcError(
            Code.ILLEGAL_CONSUMER_GROUP,
            f"the specified group[{name}] contains illegal characters, allowing only {_PATTERN}",
        )
    if name.startswith("CID_RMQ_SYS_"):
        raise RpcError(Code.ILLEGAL_CONSUMER_GROUP, "cannot use system consumer group")
    return name


def utf16_chars(text: str) -> int:
    """Return the length of a text as Java counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def check_invisible_time(ms: int, min_ms: int = 0) -> None:
    """Raise RpcError for a time that is too short or too long."""
    if ms < min_ms:
        raise RpcError(
            Code.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too small. min is {min_ms}"
        )
    if ms > INVISIBLE_MAX_MS:
        raise RpcError(
            Code.ILLEGAL_INVISIBLE_TIME,
            f"the invisibleTime is too large. max is {INVISIBLE_MAX_MS}",
        )


def check_lite_topic(name: str) -> None:
    """Raise RpcError for a name that no lite topic has."""
    if is_blank(name):
        text = "lite topic cannot be the char sequence of whitespace"
    elif len(name.encode("utf-8", "replace")) > LITE_TOPIC_MAX_BYTES:
        text = f"lite topic exceed the max size {LITE_TOPIC_MAX_BYTES}"
    elif not _is_lite(name):
        text = "lite topic can only contain alphanumeric characters, hyphens(-), and underscores(_)"
    else:
        return
    raise RpcError(Code.ILLEGAL_LITE_TOPIC, text)
