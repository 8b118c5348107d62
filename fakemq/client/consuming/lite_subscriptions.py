"""What one lite pull consumer wants: topics whose queues are divided, or queues chosen by hand."""

from __future__ import annotations

from enum import Enum

from fakemq.client.consuming.settings import Selector
from fakemq.client.consuming.subscriptions import built_subscription
from fakemq.client.errors import MQClientError
from fakemq.errors import ConfigError
from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.subscription import SUB_ALL


class SubscriptionType(Enum):
    """NONE → SUBSCRIBE or ASSIGN, with the first call of either kind.

    Source: client/impl/consumer/DefaultLitePullConsumerImpl.java#SubscriptionType (4.9.7)
    """

    NONE = "NONE"
    SUBSCRIBE = "SUBSCRIBE"
    ASSIGN = "ASSIGN"


class LiteSubscriptions:
    """The subscriptions of one consumer. Topics are in their namespace."""

    def __init__(self) -> None:
        self.type = SubscriptionType.NONE
        self._by_topic: dict[str, SubscriptionData] = {}
        self._for_assign: dict[str, str] = {}

    def set_type(self, wanted: SubscriptionType) -> None:
        """Subscribe, or assign, from now on; raise MQClientError after the other one."""
        if self.type is SubscriptionType.NONE:
            self.type = wanted
        elif self.type is not wanted:
            raise MQClientError("Subscribe and assign are mutually exclusive.")

    def add(self, topic: str, expression: str | Selector, version: int) -> None:
        """Subscribe to a topic, or with another expression."""
        subscription = built_subscription(topic, expression)
        self.set_type(SubscriptionType.SUBSCRIBE)
        subscription.sub_version = version
        self._by_topic[topic] = subscription

    def remove(self, topic: str) -> None:
        """End a subscription."""
        self._by_topic.pop(topic, None)

    def set_for_assign(self, topic: str, expression: str) -> None:
        """Set the tags that are wanted of a topic's assigned queues."""
        if not expression.strip():
            raise ConfigError("subExpression can not be null or empty.")
        built_subscription(topic, expression)
        self.set_type(SubscriptionType.ASSIGN)
        self._for_assign[topic] = expression

    def has(self, topic: str) -> bool:
        """Return whether a topic is subscribed to."""
        return topic in self._by_topic

    def topics(self) -> list[str]:
        """Return the topics that are subscribed to."""
        return list(self._by_topic)

    def all(self) -> list[SubscriptionData]:
        """Return what the heartbeat says; nothing of assigned queues, as in Java."""
        return list(self._by_topic.values())

    def of(self, queue: MessageQueue) -> SubscriptionData:
        """Return what is wanted of a queue."""
        topic = queue.topic or ""
        found = self._by_topic.get(topic)
        return found or built_subscription(topic, self._for_assign.get(topic, SUB_ALL))
