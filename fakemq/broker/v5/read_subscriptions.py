"""What groups read of topics, as their last requests said it, at a broker of 5.5.0.

Clients that pop need no heartbeat. So the broker keeps what each pop and each pull with a
subscription asks for, and counts it among the subscriptions of the group.

Source: broker/client/ConsumerManager.java#compensateSubscribeData, #removeExpireConsumerGroupInfo
(5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from fakemq.clock.slices import A_STEP
from fakemq.protocol.pop import normal_topic
from fakemq.protocol.subscription import SubscriptionError, build_subscription
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.protocol.bodies.heartbeat import SubscriptionData


EXPRESSIONS_MAX_CHARS: Final = 16 * 1024 * 1024
"""All that is kept; beyond that, the oldest requests are forgotten. Java has no limit."""


_Read: TypeAlias = tuple[str, str | None, int, bool]
"""What one request asked for: expression and its type; when, and whether by a pop."""


def _chars_of(read: _Read) -> int:
    return len(read[0]) + len(read[1] or "")


class ReadSubscriptions:
    """The last request of each group for each topic that it reads."""

    def __init__(self, clock: NodeClock, config: BrokerConfig5) -> None:
        self._clock = clock
        self._config = config
        self._table: dict[tuple[str, str], _Read] = {}
        """The newest request at the end."""
        self._chars = 0

    def popped(
        self, group: str, topic: str, expression: str | None, expression_type: str | None
    ) -> None:
        """Keep what a pop asks for. One without an expression wants all."""
        if not expression:
            expression, expression_type = "*", None
        self._keep((group, topic), expression, expression_type, popped=True)

    def pulled(
        self, group: str, topic: str, expression: str | None, expression_type: str | None
    ) -> None:
        """Keep what a pull with a subscription asks for."""
        self._keep((group, topic), expression or "*", expression_type, popped=False)

    def find(self, group: str, topic: str) -> SubscriptionData | None:
        """Return what a group reads of a topic; None if it has not for subscriptionExpiredTimeout.

        A group that pops a topic reads all of its retry topic.
        """
        read = self._recent(group, topic)
        if read is None and topic.startswith(RETRY_PREFIX):
            read = self._recent(group, normal_topic(topic, group))
            read = ("*", *read[1:]) if read is not None and read[3] else None
        if read is None:
            return None
        expression, expression_type, time_ms, _ = read
        try:
            found = build_subscription(topic, expression, expression_type)
        except SubscriptionError:
            return None
        found.sub_version = time_ms
        return found

    def groups(self) -> Steps[dict[str, list[tuple[str, bool]]]]:
        """Return what each group has read lately: topics, and whether it popped or pulled them."""
        found: dict[str, list[tuple[str, bool]]] = {}
        for number, key in enumerate(list(self._table), 1):
            read = self._table.get(key)
            if read is not None and not self._is_over(read):
                group, topic = key
                found.setdefault(group, []).append((topic, read[3]))
            if not number % A_STEP:
                yield
        return found

    def __len__(self) -> int:
        return len(self._table)

    def clear(self) -> None:
        """Forget all requests."""
        self._table.clear()
        self._chars = 0

    def _keep(
        self, key: tuple[str, str], expression: str, expression_type: str | None, *, popped: bool
    ) -> None:
        self._forget(key)
        now_ms = self._clock.now_ms()
        self._table[key] = (expression, expression_type, now_ms, popped)
        self._chars += len(expression) + len(expression_type or "")
        while len(self._table) > 1:
            oldest, read = next(iter(self._table.items()))
            if self._chars <= EXPRESSIONS_MAX_CHARS and not self._is_over(read):
                break
            self._forget(oldest)

    def _forget(self, key: tuple[str, str]) -> None:
        read = self._table.pop(key, None)
        if read is not None:
            self._chars -= _chars_of(read)

    def _is_over(self, read: _Read) -> bool:
        return self._clock.now_ms() - read[2] > self._config.subscription_expired_timeout

    def _recent(self, group: str, topic: str) -> _Read | None:
        read = self._table.get((group, topic))
        if read is not None and self._is_over(read):
            self._forget((group, topic))
            return None
        return read
