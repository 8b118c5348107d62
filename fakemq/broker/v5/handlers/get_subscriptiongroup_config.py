"""GET_SUBSCRIPTIONGROUP_CONFIG (352): return one group.

Behaviour: a group that does not exist is created, if autoCreateSubscriptionGroup is on.
Refused: a group that does not exist then: SUBSCRIPTION_GROUP_NOT_EXIST.

Source: broker/processor/AdminBrokerProcessor.java#getSubscriptionGroup (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.group import GetSubscriptionGroupConfigRequestHeader


@handles(table.GET_SUBSCRIPTIONGROUP_CONFIG)
def get_subscriptiongroup_config(
    broker: Broker5, request: Request[GetSubscriptionGroupConfigRequestHeader]
) -> Reply[NoHeader]:
    config = broker.groups.find(request.header.group)
    if config is None:
        raise Refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "No group in this broker")
    return Reply(body=config.encode())
