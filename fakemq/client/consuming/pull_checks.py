"""What is checked when a consumer that pulls starts, with Java's texts."""

from __future__ import annotations

from typing import Protocol

from fakemq.client.consuming.allocation import AllocateStrategy
from fakemq.client.consuming.settings import MessageModel
from fakemq.client.errors import MQClientError
from fakemq.client.producing.group_names import DEFAULT_CONSUMER_GROUP, require_group
from fakemq.protocol.topics import FAQ


class PullingSettings(Protocol):
    """What lite pull and pull consumers have in common."""

    @property
    def message_model(self) -> MessageModel: ...
    @property
    def allocate(self) -> AllocateStrategy: ...
    @property
    def broker_suspend_max_time_ms(self) -> int: ...
    @property
    def consumer_timeout_when_suspend_ms(self) -> int: ...


def check_pulling(settings: PullingSettings, group: str) -> None:
    """Raise MQClientError for settings with which no consumer starts.

    ``group`` is the group in its namespace.

    Source: client/impl/consumer/DefaultLitePullConsumerImpl.java#checkConfig,
    DefaultMQPullConsumerImpl.java#checkConfig (4.9.7)
    """
    require_group(group)
    if group == DEFAULT_CONSUMER_GROUP:
        raise MQClientError(
            f"consumerGroup can not equal {DEFAULT_CONSUMER_GROUP},"
            f" please specify another one.{FAQ}"
        )
    if settings.message_model not in ("CLUSTERING", "BROADCASTING"):
        raise MQClientError(
            f"messageModel is {settings.message_model!r}: expected CLUSTERING or BROADCASTING{FAQ}"
        )
    if not callable(settings.allocate):
        raise MQClientError(f"allocateMessageQueueStrategy is null{FAQ}")
    if settings.consumer_timeout_when_suspend_ms < settings.broker_suspend_max_time_ms:
        raise MQClientError(
            "Long polling mode, the consumer consumerTimeoutMillisWhenSuspend must greater than"
            f" brokerSuspendMaxTimeMillis{FAQ}"
        )
