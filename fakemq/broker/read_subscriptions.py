"""What groups read of topics, as their last requests said it, at a broker of 5.5.0.

Clients that pop need no heartbeat. So the broker keeps what each pop and each pull with a
subscription asks for, and counts it among the subscriptions of the group.

Source: broker/client/ConsumerManager.java#compensateSubscribeData, #removeExpireConsumerGroupInfo
(5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fakemq.protocol.pop import normal_topic
from fakemq.protocol.subscription import SubscriptionError, build_subscription
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.config.model_5_5_0 import BrokerConfig5
    from fakemq.protocol.bodies.heartbeat import SubscriptionData


class _Read(NamedTuple):
    """What one request asked for, and when."""

    expression: str
    expression_type: str | None
    time_ms: int
    popped: bool


class ReadSubscriptions:
    """The last request of each group for each topic that it reads."""

    def __init__(self, clock: NodeClock, config: BrokerConfig5) -> None:
        self._clock = clock
        self._config = config
        self._table: dict[tuple[str, str], _Read] = {}

    def popped(
        self, group: str, topic: str, expression: str | None, expression_type: str | None
    ) -> None:
        """Keep what a pop asks for. One without an expression wants all."""
        if not expression:
            expression, expression_type = "*", None
        now_ms = self._clock.now_ms()
        self._table[group, topic] = _Read(expression, expression_type, now_ms, popped=True)

    def pulled(
        self, group: str, topic: str, expression: str | None, expression_type: str | None
    ) -> None:
        """Keep what a pull with a subscription asks for."""
        now_ms = self._clock.now_ms()
        self._table[group, topic] = _Read(expression or "*", expression_type, now_ms, popped=False)

    def find(self, group: str, topic: str) -> SubscriptionData | None:
        """Return what a group reads of a topic; None if it has not for subscriptionExpiredTimeout.

        A group that pops a topic reads all of its retry topic.
        """
        read = self._recent(group, topic)
        if read is None and topic.startswith(RETRY_PREFIX):
            read = self._recent(group, normal_topic(topic, group))
            read = read._replace(expression="*") if read is not None and read.popped else None
        if read is None:
            return None
        try:
            found = build_subscription(topic, read.expression, read.expression_type)
        except SubscriptionError:
            return None
        found.sub_version = read.time_ms
        return found

    def clear(self) -> None:
        """Forget all requests."""
        self._table.clear()

    def _recent(self, group: str, topic: str) -> _Read | None:
        read = self._table.get((group, topic))
        if read is None:
            return None
        if self._clock.now_ms() - read.time_ms > self._config.subscription_expired_timeout:
            del self._table[group, topic]
            return None
        return read
