"""GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201): all subscription groups with their version.

Source: broker/processor/AdminBrokerProcessor.java#getAllSubscriptionGroup (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.handlers import handles
from fakemq.dispatch.dispatcher import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker


@handles(table.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
def get_all_subscriptiongroup_config(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    return Reply(body=broker.groups.wrapper().encode())
