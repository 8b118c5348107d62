"""Topics and groups as requests of 5.5.0 create and change them, with attributes.

Source: broker/processor/AdminBrokerProcessor.java, broker/topic/TopicConfigManager.java
#updateSingleTopicConfigWithoutPersist, broker/subscription/SubscriptionGroupManager.java
#updateSubscriptionGroupConfigWithoutPersist, common/topic/TopicValidator.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.v5.attributes import WrongAttributeError, altered
from fakemq.config.v5.model import config5
from fakemq.dispatch.answers import Refused, Thrown
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.message_types import MESSAGE_TYPE, MIXED
from fakemq.protocol.topics import (
    DLQ_PREFIX,
    RETRY_PREFIX,
    TOPIC_CHARACTERS,
    TOPIC_MAX_LENGTH,
    has_only_topic_characters,
)
from fakemq.protocol.v5.codes import ResponseCode5

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.protocol.bodies.group import SubscriptionGroupConfig
    from fakemq.protocol.bodies.topic import TopicConfig

GROUP_MAX_LENGTH = 120
RETRY_TOPIC_MAX_LENGTH = 255


def topic_error(topic: str) -> str | None:
    """Return Java's text for a name that no topic can have; None for a valid name."""
    if error := _characters_error("topic", topic):
        return error
    if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        if len(topic) > RETRY_TOPIC_MAX_LENGTH:
            return (
                f"The specified topic is DLQ or Retry topic: {topic},"
                f" and it's longer than topic max length: {RETRY_TOPIC_MAX_LENGTH}"
            )
    elif len(topic) > TOPIC_MAX_LENGTH:
        return f"The specified topic: {topic}, is longer than topic max length: {TOPIC_MAX_LENGTH}"
    return None


def group_error(group: str) -> str | None:
    """Return Java's text for a name that no group can have; None for a valid name."""
    if error := _characters_error("group", group):
        return error
    if len(group) > GROUP_MAX_LENGTH:
        return f"The specified group: {group}, is longer than group max length: {GROUP_MAX_LENGTH}"
    return None


def _characters_error(kind: str, name: str) -> str | None:
    if not name or name.isspace():
        return f"The specified {kind} is blank."
    if not has_only_topic_characters(name):
        return (
            f"The specified {kind}: {name}, contains illegal characters,"
            f" allowing only {TOPIC_CHARACTERS}"
        )
    return None


def check_topic(broker: Broker, topic: str) -> None:
    """Raise Refused (INVALID_PARAMETER) for a name that no request may create a topic of."""
    error = broker.topic_error(topic)
    checks_system = config5(broker.config).validate_system_topic_when_update_topic
    if error is None and checks_system and broker.topics.is_system(topic):
        error = f"The topic[{topic}] is conflict with system topic."
    if error is not None:
        raise Refused(ResponseCode5.INVALID_PARAMETER, error)


def check_group(broker: Broker, group: str | None) -> None:
    """Raise Refused (INVALID_PARAMETER) for a name that no group can have."""
    error = broker.group_error(group or "")
    if error is not None:
        raise Refused(ResponseCode5.INVALID_PARAMETER, error)


def check_message_type(broker: Broker, config: TopicConfig) -> None:
    """Raise Refused (INVALID_PARAMETER) for a topic of the type MIXED where there may be none."""
    is_mixed = (config.attributes or {}).get(f"+{MESSAGE_TYPE}") == MIXED
    if is_mixed and not config5(broker.config).enable_mixed_message_type:
        raise Refused(ResponseCode5.INVALID_PARAMETER, "MIXED message type is not supported.")


def is_unchanged(broker: Broker, config: TopicConfig) -> bool:
    """Return whether a topic is there and is the same; ``config`` has changes as attributes."""
    return broker.topics.select(config.topic_name) == config


def put_topic(broker: Broker, config: TopicConfig) -> None:
    """Create or change a topic, whose attributes are changes; the caller registers it."""
    present = broker.topics.select(config.topic_name)
    before = None if present is None else present.attributes or {}
    try:
        config.attributes = altered(broker.topic_attributes, before, config.attributes or {})
    except WrongAttributeError as error:
        raise Refused(ResponseCode.SYSTEM_ERROR, str(error)) from None
    broker.topics.update(config)


def put_group(broker: Broker, config: SubscriptionGroupConfig) -> None:
    """Create or change a group, whose attributes are changes; Java does not catch what is wrong."""
    present = broker.groups.existing(config.group_name)
    before = None if present is None else present.attributes or {}
    try:
        config.attributes = altered(broker.group_attributes, before, config.attributes or {})
    except WrongAttributeError as error:
        raise Thrown(f"java.lang.RuntimeException: {error}, {error.place}") from None
    broker.groups.update(config)
