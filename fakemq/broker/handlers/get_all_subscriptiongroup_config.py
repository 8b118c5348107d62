"""GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201): return all subscription groups with their version.

Source: broker/processor/AdminBrokerProcessor.java#getAllSubscriptionGroup (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader


@handles(table.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
def get_all_subscriptiongroup_config(
    broker: Broker, request: Request[NoHeader]
) -> Steps[Reply[NoHeader]]:
    wrapper = broker.groups.wrapper()
    body = yield from wrapper.encode_in_steps()
    return Reply(body=body)
