"""The settings of one pull consumer, and of one pull schedule, with Java's defaults."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from fakemq.client.consuming.allocation import AllocateStrategy, averagely
from fakemq.client.consuming.settings import MessageModel, check_pulling
from fakemq.config.checked import whole
from fakemq.protocol.java import INT_MAX

LIMITS = {
    "broker_suspend_max_time_ms": (0, INT_MAX),
    "consumer_timeout_when_suspend_ms": (1, INT_MAX),
    "consumer_pull_timeout_ms": (1, INT_MAX),
    "max_reconsume_times": (-1, INT_MAX),
}
"""The lowest and highest values of numbers; Java checks none of them."""


class PullSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one pull consumer.

    Source: client/consumer/DefaultMQPullConsumer.java (4.9.7)
    """

    group: str
    topics: Collection[str] = ()
    """The topics whose queues are divided among the members of the group."""
    namespace: str = ""
    """Put before the names of topics and of the group, as ``namespace%topic``."""
    message_model: MessageModel = "CLUSTERING"
    allocate: AllocateStrategy = averagely
    broker_suspend_max_time_ms: int = 20_000
    """How long a broker may hold a `pull_block_if_not_found` until a message arrives."""
    consumer_timeout_when_suspend_ms: int = 30_000
    """How long that waits for its answer; not less than ``broker_suspend_max_time_ms``."""
    consumer_pull_timeout_ms: int = 10_000
    """How long a `pull` waits for its answer."""
    max_reconsume_times: int = 16
    """How often a message that was sent back is tried again before it becomes a dead letter."""
    unit_mode: bool = False
    offsets_directory: str | None = None
    """Where offsets of BROADCASTING are kept; None is ``~/.rocketmq_offsets``."""

    def require_valid(self, group: str) -> None:
        """Raise MQClientError for settings with which no consumer starts.

        ``group`` is the group in its namespace. Raise ConfigError for a value that is no whole
        number, or too low.
        """
        for name, limits in LIMITS.items():
            whole(name, getattr(self, name), *limits)
        check_pulling(self, group)
