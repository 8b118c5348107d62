"""Checks of the names of groups and topics, with Java's texts.

Source: client/Validators.java, common/topic/TopicValidator.java (4.9.7)
"""

from __future__ import annotations

from functools import lru_cache

from fakemq.client.errors import MQClientError
from fakemq.protocol import topics

GROUP_MAX_LENGTH = 255

DEFAULT_PRODUCER_GROUP = "DEFAULT_PRODUCER"
DEFAULT_CONSUMER_GROUP = "DEFAULT_CONSUMER"

_CHARACTERS = frozenset("%-_|0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_ALLOWED = "^[%|a-zA-Z0-9_-]+$"

_NOT_TO_SEND = frozenset(
    (
        topics.SCHEDULE_TOPIC,
        topics.TRANS_HALF_TOPIC,
        topics.TRANS_OP_HALF_TOPIC,
        topics.TRANS_CHECK_MAX_TIME_TOPIC,
        topics.SELF_TEST_TOPIC,
        topics.OFFSET_MOVED_EVENT_TOPIC,
    )
)


def require_group(group: str) -> None:
    """Raise MQClientError for a name that no group can have.

    Source: client/Validators.java#checkGroup (4.9.7)
    """
    if not group.strip():
        raise MQClientError("the specified group is blank")
    if len(group) > GROUP_MAX_LENGTH:
        raise MQClientError("the specified group is longer than group max length 255.")
    if not _CHARACTERS.issuperset(group):
        raise MQClientError(
            f"the specified group[{group}] contains illegal characters, allowing only {_ALLOWED}"
        )


def require_producer_group(group: str) -> None:
    """Raise MQClientError for a name that no producer's group can have.

    Source: client/impl/producer/DefaultMQProducerImpl.java#checkConfig (4.9.7)
    """
    require_group(group)
    if group == DEFAULT_PRODUCER_GROUP:
        raise MQClientError(
            f"producerGroup can not equal {DEFAULT_PRODUCER_GROUP}, please specify another one."
        )


def require_topic(topic: str) -> None:
    """Raise MQClientError for a name that no topic can have.

    Source: client/Validators.java#checkTopic (4.9.7)
    """
    if not topic.strip():
        raise MQClientError("The specified topic is blank")
    if len(topic) > topics.TOPIC_MAX_LENGTH:
        raise MQClientError(
            f"The specified topic is longer than topic max length {topics.TOPIC_MAX_LENGTH}."
        )
    if not _CHARACTERS.issuperset(topic):
        raise MQClientError(
            f"The specified topic[{topic}] contains illegal characters, allowing only {_ALLOWED}"
        )


@lru_cache(maxsize=1024)
def require_topic_to_send(topic: str) -> None:
    """Raise MQClientError for a topic that no client may send to. Valid names are remembered.

    Source: client/Validators.java#isNotAllowedSendTopic (4.9.7)
    """
    require_topic(topic)
    if topic in _NOT_TO_SEND:
        raise MQClientError(f"Sending message to topic[{topic}] is forbidden.")
