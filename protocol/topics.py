"""Topic names that RocketMQ itself uses. Source: common/topic/TopicValidator.java,
common/MixAll.java (4.9.7)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

AUTO_CREATE_TOPIC_KEY_TOPIC: Final = "TBW102"
SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
BENCHMARK_TOPIC: Final = "BenchmarkTest"
TRANS_HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
TRANS_OP_HALF_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
TRANS_CHECK_MAX_TIME_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
SELF_TEST_TOPIC: Final = "SELF_TEST_TOPIC"
OFFSET_MOVED_EVENT_TOPIC: Final = "OFFSET_MOVED_EVENT"
RETRY_PREFIX: Final = "%RETRY%"
DLQ_PREFIX: Final = "%DLQ%"
LMQ_PREFIX: Final = "%LMQ%"
TOOLS_GROUP: Final = "TOOLS_CONSUMER"
"""The group of tools that read queues and commit nothing; each broker has it."""
REPLY_POSTFIX: Final = "REPLY_TOPIC"
SYSTEM_TOPIC_PREFIX: Final = "rmq_sys_"
SYNC_BROKER_MEMBER_PREFIX: Final = "rmq_sys_SYNC_BROKER_MEMBER_"
"""Before a brokerName: a topic whose route says which brokers of 5.x have that name."""
SYSTEM_TOPICS: Final = (
    *(AUTO_CREATE_TOPIC_KEY_TOPIC, SCHEDULE_TOPIC, BENCHMARK_TOPIC, TRANS_HALF_TOPIC, TRACE_TOPIC),
    *(TRANS_OP_HALF_TOPIC, TRANS_CHECK_MAX_TIME_TOPIC, SELF_TEST_TOPIC, OFFSET_MOVED_EVENT_TOPIC),
)
"""Topics that a broker makes itself, in the order of SYSTEM_TOPIC_SET; 5.5.0 has three more."""

FAQ: Final = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
"""What Java puts behind remarks that a reader could look up."""


def without_faq(text: object) -> str:
    """Return a text as part of another one: without the line that is to be its last."""
    return str(text).replace(FAQ, "")


def is_system_topic(topic: str) -> bool:
    """Return whether RocketMQ itself uses a topic.

    Source: TopicValidator.java#isSystemTopic (4.9.7)
    """
    return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_TOPIC_PREFIX)


def retry_topic(group: str) -> str:
    """Return where a group's messages go to be tried again."""
    return RETRY_PREFIX + group


def dlq_topic(group: str) -> str:
    """Return where a group's messages go when they have been tried often enough."""
    return DLQ_PREFIX + group


TOPIC_MAX_LENGTH: Final = 127
TOPIC_CHARACTERS: Final = "^[%|a-zA-Z0-9_-]+$"
_TOPIC_CHARS: Final = frozenset(
    "%-_|0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)


def has_only_topic_characters(name: str) -> bool:
    """Return whether a name has only characters that topics and groups may have."""
    return _TOPIC_CHARS.issuperset(name)


def topic_name_error(topic: str) -> str | None:
    """Return Java's text for a name that no topic can have; None for a valid name.

    Source: TopicValidator.java#validateTopic (4.9.7)
    """
    # A name that is too long is not cached: it may be as long as a frame.
    find = _cached_error if len(topic) <= TOPIC_MAX_LENGTH else _topic_name_error
    return find(topic)


def _topic_name_error(topic: str) -> str | None:
    if not topic or topic.isspace():
        return "The specified topic is blank."
    if not _TOPIC_CHARS.issuperset(topic):
        return f"The specified topic contains illegal characters, allowing only {TOPIC_CHARACTERS}"
    if len(topic) > TOPIC_MAX_LENGTH:
        return "The specified topic is longer than topic max length."
    return None


_cached_error: Final = lru_cache(maxsize=4096)(_topic_name_error)
