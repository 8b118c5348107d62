"""The settings of one lite pull consumer, with Java's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from fakemq.client.consuming.allocation import AllocateStrategy, averagely
from fakemq.client.consuming.settings import (
    CONSUME_FROM_WHERE,
    ConsumeFrom,
    MessageModel,
    Selector,
    check_pulling,
)
from fakemq.client.consuming.start_offset import timestamp_ms
from fakemq.client.errors import MQClientError
from fakemq.config.checked import whole
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.topics import FAQ, TRACE_TOPIC

MIN_AUTO_COMMIT_INTERVAL_MS = 1_000

LIMITS = {
    "auto_commit_interval_ms": (0, INT_MAX),
    "poll_timeout_ms": (0, INT_MAX),
    "pull_batch_size": (1, INT_MAX),
    "pull_threshold_for_all": (0, INT_MAX),
    "pull_threshold_for_queue": (0, INT_MAX),
    "pull_threshold_size_mib_for_queue": (0, INT_MAX),
    "consume_max_span": (0, INT_MAX),
    "pull_delay_when_error_ms": (0, INT_MAX),
    "broker_suspend_max_time_ms": (0, INT_MAX),
    "consumer_timeout_when_suspend_ms": (1, INT_MAX),
    "topic_metadata_check_interval_ms": (1, INT_MAX),
}
"""The lowest and highest values of numbers; Java checks none of them."""


class LitePullSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one lite pull consumer.

    Source: client/consumer/DefaultLitePullConsumer.java (4.9.7)
    """

    group: str
    subscribe: Mapping[str, str | Selector] = msgspec.field(default_factory=dict)
    """By topic: the wanted tags, joined by ``||``, ``*`` for all messages, or a `Selector`. Leave
    it empty to choose queues by `assign`."""
    namespace: str = ""
    """Put before the names of topics and of the group, as ``namespace%topic``."""
    message_model: MessageModel = "CLUSTERING"
    consume_from: ConsumeFrom = "last"
    """Where a queue without a committed offset begins."""
    consume_timestamp: str | datetime | None = None
    """Where ``timestamp`` begins: local time as yyyyMMddHHmmss, or a datetime; None is half an
    hour before the start."""
    allocate: AllocateStrategy = averagely
    auto_commit: bool = True
    """Whether `poll` commits what earlier polls returned, every ``auto_commit_interval_ms``."""
    auto_commit_interval_ms: int = 5_000
    """At least 1,000; a shorter interval has no effect, as in Java."""
    poll_timeout_ms: int = 5_000
    """How long `poll` waits by default."""
    pull_batch_size: int = 10
    pull_threshold_for_all: int = 10_000
    """No queue is pulled from while more messages wait, each pull counted as a full batch."""
    pull_threshold_for_queue: int = 1_000
    """A queue with more messages waiting in this consumer is not pulled from."""
    pull_threshold_size_mib_for_queue: int = 100
    consume_max_span: int = 2_000
    """A queue is not pulled from while its first and last waiting messages lie further apart."""
    pull_delay_when_error_ms: int = 1_000
    broker_suspend_max_time_ms: int = 20_000
    """How long a broker may hold a pull until a message arrives."""
    consumer_timeout_when_suspend_ms: int = 30_000
    """How long a pull waits for its answer; not less than ``broker_suspend_max_time_ms``."""
    topic_metadata_check_interval_ms: int = 30_000
    """How often listeners for changed queues are served."""
    unit_mode: bool = False
    offsets_directory: str | None = None
    """Where offsets of BROADCASTING are kept; None is ``~/.rocketmq_offsets``."""
    trace: bool = False
    """Send a trace of each message to ``trace_topic``."""
    trace_topic: str = TRACE_TOPIC

    def require_valid(self, group: str) -> None:
        """Raise MQClientError for settings with which no consumer starts.

        ``group`` is the group in its namespace. Raise ConfigError for a value that is no whole
        number, or too low.
        """
        for name, limits in LIMITS.items():
            whole(name, getattr(self, name), *limits)
        check_pulling(self, group)
        if self.consume_from not in CONSUME_FROM_WHERE:
            expected = " or ".join(CONSUME_FROM_WHERE)
            raise MQClientError(
                f"consumeFromWhere is {self.consume_from!r}: expected {expected}{FAQ}"
            )
        if self.consume_timestamp is not None:
            timestamp_ms(self.consume_timestamp)
