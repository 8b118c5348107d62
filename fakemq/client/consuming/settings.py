"""The settings of one push consumer, with Java's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

import msgspec

from fakemq.client.consuming.allocation import AllocateStrategy, averagely
from fakemq.client.errors import MQClientError
from fakemq.client.producing.group_names import DEFAULT_CONSUMER_GROUP, require_group
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.subscription import SUB_ALL, ExpressionType
from fakemq.protocol.topics import FAQ, TRACE_TOPIC

ConsumeFrom: TypeAlias = Literal["last", "first", "timestamp"]
MessageModel: TypeAlias = Literal["CLUSTERING", "BROADCASTING"]

CONSUME_FROM_WHERE = {
    "last": "CONSUME_FROM_LAST_OFFSET",
    "first": "CONSUME_FROM_FIRST_OFFSET",
    "timestamp": "CONSUME_FROM_TIMESTAMP",
}
"""Java's names. Source: common/consumer/ConsumeFromWhere.java (4.9.7)"""

LIMITS = {
    "consume_threads": (1, 1000),
    "consume_concurrently_max_span": (1, 65_535),
    "pull_threshold_for_queue": (1, 65_535),
    "pull_threshold_for_topic": (-1, 6_553_500),
    "pull_threshold_size_mib_for_queue": (1, 1024),
    "pull_threshold_size_mib_for_topic": (-1, 102_400),
    "pull_interval_ms": (0, 65_535),
    "consume_message_batch_max_size": (1, 1024),
    "pull_batch_size": (1, 1024),
    "pull_delay_when_error_ms": (0, INT_MAX),
    "max_reconsume_times": (-1, INT_MAX),
    "delay_level_when_next_consume": (-1, INT_MAX),
    "suspend_current_queue_time_ms": (0, INT_MAX),
    "consume_timeout_ms": (1, INT_MAX),
}
"""The lowest and highest values of numbers. Java checks those up to ``pull_batch_size``, when it
starts (`check_start`)."""


class Selector(msgspec.Struct, frozen=True):
    """Which messages of a topic are wanted: ``Selector.by_sql("a > 5")``.

    Source: client/consumer/MessageSelector.java (4.9.7)
    """

    expression: str = SUB_ALL
    expression_type: str = ExpressionType.TAG

    @classmethod
    def by_tag(cls, tags: str) -> Selector:
        """Return a selector by tags, joined by ``||``; ``*`` are all messages."""
        return cls(tags)

    @classmethod
    def by_sql(cls, expression: str) -> Selector:
        """Return a selector by an SQL92 expression over the messages' properties."""
        return cls(expression, ExpressionType.SQL92)


class PushSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one push consumer.

    Source: client/consumer/DefaultMQPushConsumer.java (4.9.7)
    """

    group: str
    subscribe: Mapping[str, str | Selector] = msgspec.field(default_factory=dict)
    """By topic: the wanted tags, joined by ``||``, ``*`` for all messages, or a `Selector`."""
    namespace: str = ""
    """Put before the names of topics and of the group, as ``namespace%topic``."""
    message_model: MessageModel = "CLUSTERING"
    """CLUSTERING divides messages among the members of the group; with BROADCASTING each member
    gets all, and its offsets are kept in a file by client id: use the same id after a restart."""
    ordered: bool = False
    """Consume each queue in order, one message after the other."""
    consume_from: ConsumeFrom = "last"
    """Where a queue without a committed offset begins. ``last`` begins with the first message, too,
    as long as the queue's message 0 is still stored: the broker decides it."""
    consume_timestamp: str | datetime | None = None
    """Where ``timestamp`` begins: local time as yyyyMMddHHmmss, or a datetime; None is half an
    hour before the start."""
    allocate: AllocateStrategy = averagely
    consume_threads: int = 20
    """How many messages, or batches, are consumed at the same time."""
    consume_message_batch_max_size: int = 1
    pull_batch_size: int = 32
    pull_interval_ms: int = 0
    pull_threshold_for_queue: int = 1_000
    """A queue with more messages waiting in this consumer is not pulled from."""
    pull_threshold_size_mib_for_queue: int = 100
    pull_threshold_for_topic: int = -1
    """Divided by the number of queues, the threshold for a queue; -1 is no threshold."""
    pull_threshold_size_mib_for_topic: int = -1
    consume_concurrently_max_span: int = 2_000
    """A queue is not pulled from while its first and last waiting messages lie further apart."""
    pull_delay_when_error_ms: int = 3_000
    post_subscription_when_pull: bool = False
    """Send the subscription with every pull, besides with heartbeats."""
    max_reconsume_times: int = -1
    """How often a message is tried again before it becomes a dead letter; -1 is 16, and no limit
    with ``ordered``."""
    delay_level_when_next_consume: int = 0
    """The delay level of a message that is sent back; 0 lets the broker choose a longer one each
    time, -1 makes it a dead letter at once."""
    suspend_current_queue_time_ms: int = 1_000
    """How long an ordered queue waits after a message that failed, 10 to 30,000 ms."""
    consume_timeout_ms: int = 15 * 60_000
    """A message that is consumed for longer is sent back, and no longer waited for."""
    unit_mode: bool = False
    offsets_directory: str | None = None
    """Where offsets of BROADCASTING are kept; None is ``~/.rocketmq_offsets``."""
    trace: bool = False
    """Send a trace of each message to ``trace_topic``."""
    trace_topic: str = TRACE_TOPIC


# What is checked when a consumer that pulls starts, with Java's texts.
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


SQL = Selector.by_sql
"""``{"orders": SQL("amount > 100 AND region = 'eu'")}``: by an SQL92 expression over properties.

The broker needs ``enablePropertyFilter=true``.
"""
