"""What is checked when a push consumer starts, with Java's texts.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java#checkConfig (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.client.consuming.settings import CONSUME_FROM_WHERE, LIMITS, PushSettings
from fakemq.client.consuming.start_offset import timestamp_ms
from fakemq.client.errors import MQClientError
from fakemq.client.producing.group_names import DEFAULT_CONSUMER_GROUP, require_group
from fakemq.config.checked import whole
from fakemq.protocol.topics import FAQ

if TYPE_CHECKING:
    from fakemq.client.consuming.received import Listener

_CHECKED_BY_JAVA = {
    "consume_threads": "consumeThreadMin",
    "consume_concurrently_max_span": "consumeConcurrentlyMaxSpan",
    "pull_threshold_for_queue": "pullThresholdForQueue",
    "pull_threshold_for_topic": "pullThresholdForTopic",
    "pull_threshold_size_mib_for_queue": "pullThresholdSizeForQueue",
    "pull_threshold_size_mib_for_topic": "pullThresholdSizeForTopic",
    "pull_interval_ms": "pullInterval",
    "consume_message_batch_max_size": "consumeMessageBatchMaxSize",
    "pull_batch_size": "pullBatchSize",
}
"""Java's names of the settings that it checks."""

_NO_LIMIT = -1


def check_start(settings: PushSettings, group: str, listener: Listener | None) -> None:
    """Raise MQClientError for settings that no consumer can start with.

    Raise ConfigError for a value that is no whole number.
    """
    require_group(group)
    if settings.group == DEFAULT_CONSUMER_GROUP:
        raise _error(
            f"consumerGroup can not equal {DEFAULT_CONSUMER_GROUP}, please specify another one."
        )
    if settings.message_model not in ("CLUSTERING", "BROADCASTING"):
        raise _error(
            f"messageModel is {settings.message_model!r}: expected CLUSTERING or BROADCASTING"
        )
    if settings.consume_from not in CONSUME_FROM_WHERE:
        expected = " or ".join(CONSUME_FROM_WHERE)
        raise _error(f"consumeFromWhere is {settings.consume_from!r}: expected {expected}")
    if settings.consume_timestamp is not None:
        timestamp_ms(settings.consume_timestamp)
    if not callable(settings.allocate):
        raise _error("allocateMessageQueueStrategy is null")
    if listener is None:
        raise _error("messageListener is null")
    if not callable(listener):
        raise _error(
            "messageListener must be instanceof MessageListenerOrderly or"
            " MessageListenerConcurrently"
        )
    for name, (lowest, highest) in LIMITS.items():
        java_name = _CHECKED_BY_JAVA.get(name)
        if java_name is None:
            whole(name, getattr(settings, name), lowest, highest)
            continue
        value = whole(name, getattr(settings, name), None)
        if value == _NO_LIMIT == lowest:
            continue
        lowest = 1 if lowest == _NO_LIMIT else lowest
        if not lowest <= value <= highest:
            raise _error(f"{java_name} Out of range [{lowest}, {highest}]")


def _error(text: str) -> MQClientError:
    return MQClientError(text + FAQ)
