"""Subscriptions of consumers, and whether brokers accept them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING

from fakemq.client.arguments import topic_name
from fakemq.client.consuming.settings import Selector
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.tasks import Task
from fakemq.config.checked import utf8
from fakemq.errors import ConfigError
from fakemq.protocol.bodies.heartbeat import CheckClientRequestBody, SubscriptionData
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.subscription import SUB_ALL, SubscriptionError, build_subscription, is_tag_type

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices


def require_subscription(topic: object, expression: object) -> None:
    """Raise ConfigError for what is no topic, TypeError for what is no expression."""
    topic_name("topic", topic)
    wanted: object = expression.expression if isinstance(expression, Selector) else expression
    if not isinstance(wanted, str):
        raise TypeError(
            f"the messages wanted of {topic} are {wanted!r}: expected tags, such as"
            ' "paid || shipped" or "*", or SQL("amount > 100")'
        )
    utf8(f"the messages wanted of {topic}", wanted)


def built_subscription(topic: str, expression: str | Selector) -> SubscriptionData:
    """Return what a consumer subscribes to; raise MQClientError for what cannot be one.

    Source: DefaultMQPushConsumerImpl.java#subscribe (4.9.7)
    """
    selector = expression if isinstance(expression, Selector) else Selector.by_tag(expression)
    try:
        return build_subscription(topic, selector.expression, selector.expression_type)
    except SubscriptionError as error:
        raise MQClientError(f"subscription exception: {error}") from error


def needed_key(error: MQBrokerError) -> str:
    """Return which key the config of a broker needs that refuses SQL, as the end of a text."""
    if "not support consumer to filter message by SQL92" not in str(error):
        return ""
    return ": its config needs enablePropertyFilter=true"


def check_in_broker(
    services: ClientServices, group: str, subscriptions: Iterable[SubscriptionData]
) -> Task[None]:
    """Let a broker of each topic check expressions other than tags.

    Raise MQClientError with the broker's remark if it refuses one. Without this check, a pull by an
    expression that 4.9.7 cannot read returns every message.

    Source: client/impl/factory/MQClientInstance.java#checkClientInBroker (4.9.7)
    """
    instance = services.instance
    for subscription in subscriptions:
        if is_tag_type(subscription.expression_type):
            continue
        route = yield from instance.known_route(subscription.topic or "")
        brokers = [one.broker_name for one in route.data.broker_datas] if route else []
        broker = instance.routes.any_addr(instance.random.choice(brokers)) if brokers else None
        if broker is None:
            continue
        body = CheckClientRequestBody(
            client_id=instance.client_id, group=group, subscription_data=subscription
        )
        command = instance.command(RequestCode.CHECK_CLIENT_CONFIG, body=body.encode())
        try:
            yield from instance.invoke_ok(broker.addr, command)
        except MQBrokerError as error:
            text = (error.remark or str(error)) + needed_key(error)
            raise MQClientError(text, error.code) from error
        except RemotingError as error:
            raise MQClientError(
                "Check client in broker error, maybe because you use"
                f" {subscription.expression_type} to filter message, but server has not been"
                " upgraded to support!This error would not affect the launch of consumer, but may"
                " has impact on message receiving if you have use the new features which are not"
                " supported by server, please check the log!"
            ) from error


# What one lite pull consumer wants: topics whose queues are divided, or queues chosen by hand.
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
