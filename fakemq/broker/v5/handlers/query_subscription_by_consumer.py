"""QUERY_SUBSCRIPTION_BY_CONSUMER (345): return what a group subscribes to in a topic.

Behaviour: without a subscription, the answer has none. What the group pops or pulls counts as one.

Source: broker/processor/AdminBrokerProcessor.java#querySubscriptionByConsumer (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.bodies.tables import QuerySubscriptionResponseBody
from fakemq.protocol.v5.headers.group import QuerySubscriptionByConsumerRequestHeader


@handles(table.QUERY_SUBSCRIPTION_BY_CONSUMER)
def query_subscription_by_consumer(
    broker: Broker5, request: Request[QuerySubscriptionByConsumerRequestHeader]
) -> Reply[NoHeader]:
    group, topic = request.header.group, request.header.topic
    body = QuerySubscriptionResponseBody(
        group=group,
        topic=topic,
        subscription_data=broker.consumers.find_subscription(group, topic or ""),
    )
    return Reply(body=body.encode())
