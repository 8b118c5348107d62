"""What is checked when a push consumer starts, with Java's texts.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java#checkConfig (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.client.consuming.settings import CONSUME_FROM_WHERE, PushSettings
from fakemq.client.consuming.start_offset import timestamp_ms
from fakemq.client.errors import MQClientError
from fakemq.client.producing.group_names import DEFAULT_CONSUMER_GROUP, require_group
from fakemq.config.checked import whole
from fakemq.protocol.topics import FAQ

if TYPE_CHECKING:
    from fakemq.client.consuming.received import Listener

_RANGES = (
    ("consume_threads", "consumeThreadMin", 1, 1000),
    ("consume_concurrently_max_span", "consumeConcurrentlyMaxSpan", 1, 65535),
    ("pull_threshold_for_queue", "pullThresholdForQueue", 1, 65535),
    ("pull_threshold_for_topic", "pullThresholdForTopic", 1, 6553500),
    ("pull_threshold_size_mib_for_queue", "pullThresholdSizeForQueue", 1, 1024),
    ("pull_threshold_size_mib_for_topic", "pullThresholdSizeForTopic", 1, 102400),
    ("pull_interval_ms", "pullInterval", 0, 65535),
    ("consume_message_batch_max_size", "consumeMessageBatchMaxSize", 1, 1024),
    ("pull_batch_size", "pullBatchSize", 1, 1024),
)
"""Setting, Java's name of it, and the lowest and highest value."""

_NO_LIMIT = -1
_MAY_BE_UNLIMITED = frozenset(("pull_threshold_for_topic", "pull_threshold_size_mib_for_topic"))

_WHOLE_NUMBERS = (
    ("pull_delay_when_error_ms", 0),
    ("max_reconsume_times", -1),
    ("delay_level_when_next_consume", None),
    ("suspend_current_queue_time_ms", None),
    ("consume_timeout_ms", 1),
)
"""Settings that Java does not check, and their lowest values."""


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
    for name, java_name, lowest, highest in _RANGES:
        value = whole(name, getattr(settings, name), None)
        if value == _NO_LIMIT and name in _MAY_BE_UNLIMITED:
            continue
        if not lowest <= value <= highest:
            raise _error(f"{java_name} Out of range [{lowest}, {highest}]")
    for name, low in _WHOLE_NUMBERS:
        whole(name, getattr(settings, name), low)


def _error(text: str) -> MQClientError:
    return MQClientError(text + FAQ)
