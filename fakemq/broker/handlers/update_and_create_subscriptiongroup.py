"""UPDATE_AND_CREATE_SUBSCRIPTIONGROUP (200): create a subscription group or change it.

Behaviour: the group is exactly what the body says. Name servers are not notified.

Source: broker/processor/AdminBrokerProcessor.java#updateAndCreateSubscriptionGroup (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.sending.checks import check_not_slave
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import body_of
from fakemq.protocol import table
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.table import NoHeader


@handles(table.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP)
def update_and_create_subscriptiongroup(
    broker: Broker, request: Request[NoHeader]
) -> Reply[NoHeader]:
    check_not_slave(broker)
    config = SubscriptionGroupConfig.decode_or_null(body_of(request))
    if config is not None:
        broker.groups.update(config)
    return Reply()
