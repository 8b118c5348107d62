"""The checks that requests of POP have in common; the error texts are Java's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.dispatch.answers import Refused
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.limits import ATTEMPT_ID_MAX_CHARS, ATTEMPT_ID_TOO_LONG
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.v5.codes import ResponseCode5

if TYPE_CHECKING:
    from fakemq.broker.v5.broker import Broker5
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.topic import TopicConfig

MOST_MESSAGES: Final = 32
TOO_LATE_MS: Final = 500
QUEUES_MAX: Final = 10_000
"""How many queues one request looks into, so that no request keeps the broker busy for long."""
FAQ: Final = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."


def check_readable(broker: Broker5, what: str) -> None:
    """Raise Refused at a broker that may not be read; ``what`` is forbidden there."""
    if not broker.config.broker_permission & PermName.READ:
        raise Refused(
            ResponseCode.NO_PERMISSION,
            f"the broker[{broker.config.broker_ip1}] {what} is forbidden",
        )


def check_in_time(broker: Broker5, born_time_ms: int, poll_time_ms: int) -> None:
    """Raise Refused for a pop whose client waits no longer.

    The client's clock may be that of the cluster, or that of the machine.

    Source: remoting/protocol/header/PopMessageRequestHeader.java#isTimeoutTooMuch (5.5.0)
    """
    if not born_time_ms:
        return
    clock, latest_ms = broker.clock, born_time_ms + poll_time_ms + TOO_LATE_MS
    if clock.now_ms() > latest_ms and clock.cluster.machine_ms() > latest_ms:
        raise Refused(
            ResponseCode5.POLLING_TIMEOUT,
            f"the broker[{broker.config.broker_ip1}] pop message is timeout too much",
        )


def check_most(broker: Broker5, count: int) -> None:
    """Raise Refused for a pop that wants more messages than one may have."""
    if count > MOST_MESSAGES:
        raise Refused(
            ResponseCode5.INVALID_PARAMETER,
            f"the broker[{broker.config.broker_ip1}] pop message's num is greater than 32",
        )


def check_attempt_id(text: str | None) -> None:
    """Raise Refused for an id of an attempt that is too long to be kept with a queue."""
    if len(text or "") > ATTEMPT_ID_MAX_CHARS:
        raise Refused(ResponseCode5.INVALID_PARAMETER, ATTEMPT_ID_TOO_LONG)


def existing_topic(broker: Broker5, topic: str) -> TopicConfig:
    """Return the config of a topic; raise Refused if it does not exist."""
    config = broker.topics.select(topic)
    if config is None:
        raise Refused(
            ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please! {FAQ}"
        )
    return config


def readable_queue(broker: Broker5, topic: str, queue_id: int, session: Session) -> TopicConfig:
    """Return the config of a topic; raise Refused if this queue of it cannot be popped.

    A queue id below 0 stands for all queues.
    """
    config = existing_topic(broker, topic)
    if not config.perm & PermName.READ:
        raise Refused(
            ResponseCode.NO_PERMISSION, f"the topic[{topic}] peeking message is forbidden"
        )
    if queue_id >= config.read_queue_nums:
        raise Refused(ResponseCode5.INVALID_PARAMETER, illegal_queue(config, queue_id, session))
    return config


def check_queues(config: TopicConfig | None) -> None:
    """Raise Refused if a topic has more queues than one request looks into."""
    if config is not None:
        check_queue_count(config.topic_name or "", config.read_queue_nums)


def check_queue_count(topic: str, count: int) -> None:
    """Raise Refused for more queues than one request looks into."""
    if count > QUEUES_MAX:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"the topic[{topic}] has {count} queues;"
            f" fakemq looks into {QUEUES_MAX} in one request at most",
        )


def existing_queue(broker: Broker5, topic: str, queue_id: int, session: Session) -> None:
    """Raise Refused if there is no such queue, for requests about one message."""
    config = existing_topic(broker, topic)
    if not 0 <= queue_id < config.read_queue_nums:
        raise Refused(ResponseCode.MESSAGE_ILLEGAL, illegal_queue(config, queue_id, session))


def illegal_queue(config: TopicConfig, queue_id: int, session: Session) -> str:
    return (
        f"queueId[{queue_id}] is illegal, topic:[{config.topic_name}]"
        f" topicConfig.readQueueNums:[{config.read_queue_nums}]"
        f" consumer:[/{session.remote_addr}]"
    )
