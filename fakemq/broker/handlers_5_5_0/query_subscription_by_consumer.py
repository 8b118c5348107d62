"""QUERY_SUBSCRIPTION_BY_CONSUMER (345): return what a group subscribes to in a topic.

Behaviour: without a subscription, the answer has none. What the group pops or pulls counts as one.

Source: broker/processor/AdminBrokerProcessor.java#querySubscriptionByConsumer (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.handlers_5_5_0 import handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table_5_5_0
from fakemq.protocol.bodies.group_5_5_0 import QuerySubscriptionResponseBody
from fakemq.protocol.headers.group_5_5_0 import QuerySubscriptionByConsumerRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table_5_5_0.QUERY_SUBSCRIPTION_BY_CONSUMER)
def query_subscription_by_consumer(
    broker: Broker, request: Request[QuerySubscriptionByConsumerRequestHeader]
) -> Reply[NoHeader]:
    group, topic = request.header.group, request.header.topic
    body = QuerySubscriptionResponseBody(
        group=group,
        topic=topic,
        subscription_data=broker.consumers.find_subscription(group, topic or ""),
    )
    return Reply(body=body.encode())
