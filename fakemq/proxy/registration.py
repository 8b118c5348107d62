"""How a client becomes a member of its groups: by its settings, and by each heartbeat.

Source: proxy/grpc/v2/client/ClientActivity.java#registerProducer, #registerConsumer,
proxy/processor/ClientProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.subscription import SubscriptionError, build_subscription_data
from fakemq.protocol.v5.lite import BIND_TOPIC
from fakemq.proxy.checks import check_expressions
from fakemq.proxy.clients import (
    CONSUMER,
    CONSUMER_TYPES,
    LITE_PUSH_CONSUMER_TYPE,
    PRODUCER,
    type_name,
)
from fakemq.proxy.status import Code, RpcError, java_error

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from fakemq.clock.slices import Steps
    from fakemq.protocol.grpc.messages import SubscriptionEntry
    from fakemq.proxy.call import Context
    from fakemq.proxy.clients import Client, TelemetryStream
    from fakemq.proxy.proxy import Proxy

_LANGUAGES: Final = frozenset({*LanguageCode.__members__, "NODE_JS"})
_SQL: Final = 2


def checked_language(context: Context) -> str:
    """Return the name of a client's language; raise RpcError for one that Java does not know."""
    language = context.language
    if language not in _LANGUAGES:
        raise java_error(
            "No enum constant org.apache.rocketmq.remoting.protocol.LanguageCode." + language,
            "IllegalArgumentException",
            "java.base/java.lang.Enum.valueOf(Enum.java:273)",
        )
    return language


def register_producer(
    proxy: Proxy, context: Context, topics: Iterable[str], stream: TelemetryStream | None = None
) -> Steps[None]:
    """Make a client a producer of topics; with a stream, it is notified by that from now on."""
    of_transactions = []
    for topic in topics:
        client = proxy.clients.register(
            PRODUCER,
            topic,
            context.client_id,
            checked_language(context),
            context.session,
            context.account,
        )
        if stream is not None:
            client.stream = stream
        if proxy.routes.message_type(topic) == "TRANSACTION":
            of_transactions.append(topic)
        yield
    yield from proxy.transactions.answer_for(of_transactions)


def check_subscriptions(entries: Collection[SubscriptionEntry]) -> Steps[None]:
    """Raise RpcError for filters that cannot be read, or take too long to read."""
    check_expressions(entry.expression for entry in entries)
    for entry in entries:
        if entry.expression.type != _SQL:
            try:
                build_subscription_data(entry.topic.name, entry.expression.expression)
            except SubscriptionError:
                raise RpcError(
                    Code.ILLEGAL_FILTER_EXPRESSION, "expression format is not correct"
                ) from None
        elif not entry.expression.expression:
            raise RpcError(Code.ILLEGAL_FILTER_EXPRESSION, "expression format is not correct")
        yield


def register_consumer(
    proxy: Proxy,
    context: Context,
    group: str,
    client_type: int,
    subscriptions: Collection[SubscriptionEntry] = (),
) -> Steps[Client]:
    """Make a client a member of a consumer group; raise RpcError for what it may not be.

    A heartbeat brings no new ``subscriptions``: those of the client's settings were read before.
    """
    language = checked_language(context)
    if client_type not in CONSUMER_TYPES:
        raise java_error(
            f"Client type is not consumer, type: {type_name(client_type)}",
            "IllegalArgumentException",
            "org.apache.rocketmq.proxy.grpc.v2.client.ClientActivity"
            ".buildConsumeType(ClientActivity.java:524)",
        )
    yield from check_subscriptions(subscriptions)
    check_group(
        proxy,
        group,
        is_lite=client_type == LITE_PUSH_CONSUMER_TYPE,
        topics=(one.topic.name for one in subscriptions),
    )
    return proxy.clients.register(
        CONSUMER, group, context.client_id, language, context.session, context.account
    )


def bound_topic(proxy: Proxy, group: str) -> str | None:
    """Return the topic to whose light queues a group is bound; None for a usual group.

    Raise RpcError for a group that does not exist.
    """
    config = proxy.routes.group_config(group)
    if config is None:
        raise RpcError(Code.ILLEGAL_CONSUMER_GROUP, f"group not found: {group}")
    return (config.attributes or {}).get(BIND_TOPIC)


def check_bound(proxy: Proxy, group: str, topic: str) -> None:
    """Raise RpcError if a group is not bound to this topic."""
    bound = bound_topic(proxy, group)
    if bound != topic:
        raise RpcError(
            Code.ILLEGAL_TOPIC,
            f"lite group {group} is expected to bind topic {'null' if bound is None else bound},"
            f" but actual is {topic}",
        )


def check_group(proxy: Proxy, group: str, *, is_lite: bool, topics: Iterable[str]) -> None:
    """Raise RpcError for a group that does not exist, or whose members are of the other mode.

    Of ``topics``, to which a member subscribes, only the first is looked at.

    Source: ClientProcessor.java#validateLiteMode, #validateLiteSubTopic (5.5.0)
    """
    bound = bound_topic(proxy, group)
    if is_lite:
        if not bound:
            raise RpcError(
                Code.ILLEGAL_CONSUMER_GROUP, f"regular group cannot use LITE mode: {group}"
            )
        for topic in topics:
            check_bound(proxy, group, topic)
            break
    elif bound:
        raise RpcError(Code.ILLEGAL_CONSUMER_GROUP, f"lite group must use LITE mode: {group}")
