"""The checks before a broker stores a message, hands one out or changes a table, with Java's texts.

Source: broker/processor/AbstractSendMessageProcessor.java#msgCheck,
common/topic/TopicValidator.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.tables.topics import NOT_ALLOWED_SEND_TOPICS, topic_config_text
from fakemq.clock.calendar import human_time2
from fakemq.dispatch.answers import Forbidden, ForbiddenType, InvalidParameter, Refused
from fakemq.journal.noted import CHECKED
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import NullFieldError
from fakemq.protocol.sysflag import TopicSysFlag
from fakemq.protocol.topics import FAQ, RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker, SendHeader
    from fakemq.broker.sending.settings import SendSettings
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.group import SubscriptionGroupConfig
    from fakemq.protocol.bodies.heartbeat import SubscriptionData
    from fakemq.protocol.bodies.topic import TopicConfig


def check_topic_name(broker: Broker, topic: str) -> None:
    """Raise Refused for a name that no topic can have."""
    error = broker.topic_error(topic)
    if error is not None:
        raise InvalidParameter(error)


def check_not_slave(broker: Broker) -> None:
    """Raise Refused at a slave: topics and groups are changed at masters only."""
    if broker.role.is_slave and not broker.role.fenced:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            "Can't modify topic or subscription group from slave broker, "
            "please execute it from master broker.",
        )


def check_not_system_topic(broker: Broker, topic: str) -> None:
    """Raise Refused for RocketMQ's own topics, which admin requests may not change.

    Source: TopicValidator.java#isSystemTopic (4.9.7)
    """
    if broker.topics.is_system(topic):
        raise InvalidParameter(f"The topic[{topic}] is conflict with system topic.")


def existing_topic(broker: Broker, topic: str) -> TopicConfig:
    """Return the config of a topic; raise Refused (TOPIC_NOT_EXIST) if it does not exist."""
    config = broker.topics.select(topic)
    if config is None:
        raise Refused(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
    return config


def consuming_group(broker: Broker, group: str) -> SubscriptionGroupConfig:
    """Return the config of a group; raise Refused if it may not consume."""
    config = broker.groups.find(group)
    if config is None:
        raise Refused(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
            f"subscription group [{group}] does not exist, {FAQ}",
        )
    if not config.consume_enable:
        raise Forbidden(ForbiddenType.GROUP_FORBIDDEN, f"subscription group no permission, {group}")
    return config


def check_filter_type(broker: Broker, subscription: SubscriptionData) -> None:
    """Raise Refused for this subscription, which is not by tags, if enablePropertyFilter is off."""
    if not broker.config.enable_property_filter:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            "The broker does not support consumer to filter message by "
            f"{subscription.expression_type}",
        )


def check_send(
    broker: Broker, settings: SendSettings, header: SendHeader, session: Session
) -> TopicConfig:
    """Return the config of the topic to send to; create the topic if the rules allow that.

    Raise Refused if the message may not be stored.
    """
    start_ms = settings.accepts_from_ms
    if start_ms and broker.clock.now_ms() < start_ms:
        raise Refused(
            ResponseCode.SYSTEM_ERROR, f"broker unable to service, until {human_time2(start_ms)}"
        )
    try:
        topic = header.topic
    except NullFieldError:
        topic = ""  # Java's StringUtils takes null as blank
    # Of other topics the route says that the broker takes no messages. Of these the order config
    # says where to send, and producers look at nothing else.
    if not settings.is_writable and broker.topics.is_order(topic):
        raise Refused(
            ResponseCode.NO_PERMISSION,
            f"the broker[{broker.config.broker_ip1}] sending message is forbidden",
        )
    if topic not in settings.topics:
        check_topic_name(broker, topic)
        if topic in NOT_ALLOWED_SEND_TOPICS:
            raise Refused(
                ResponseCode.NO_PERMISSION, f"Sending message to topic[{topic}] is forbidden."
            )
        settings.take(topic)
    found = broker.topics.select(topic) or _create_topic(broker, header)
    queue_id = header.queue_id
    # The larger number counts: while a topic shrinks it has more queues to read than to write, and
    # a producer with an older route still sends to the others.
    if queue_id >= found.write_queue_nums and queue_id >= found.read_queue_nums:
        raise InvalidParameter(
            f"request queueId[{queue_id}] is illegal, {topic_config_text(found)}"
            f" Producer: {session.remote_addr}"
        )
    broker.journal.note((CHECKED, broker.name, topic, queue_id))
    return found


def _create_topic(broker: Broker, header: SendHeader) -> TopicConfig:
    topic = header.topic
    retry = topic.startswith(RETRY_PREFIX)
    topic_sys_flag = 0
    if header.unit_mode:
        topic_sys_flag = TopicSysFlag.UNIT_SUB if retry else TopicSysFlag.UNIT
    config = broker.topics.create_in_send(
        topic, header.default_topic, header.default_topic_queue_nums, topic_sys_flag
    )
    # A retry topic is made although topics are not: what could not be sent back would be lost.
    if config is None and retry:
        config = broker.topics.create_in_send_back(topic, 1, topic_sys_flag=topic_sys_flag)
    if config is None:
        raise Refused(
            ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please!{FAQ}"
        )
    return config
