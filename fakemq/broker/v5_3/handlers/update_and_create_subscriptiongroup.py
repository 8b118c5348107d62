"""UPDATE_AND_CREATE_SUBSCRIPTIONGROUP (200): create a subscription group or change it.

Behaviour: as in 5.5.0, but the body must be there.

Source: broker/processor/AdminBrokerProcessor.java#updateAndCreateSubscriptionGroup (5.3.2)
"""

from __future__ import annotations

from fakemq.broker.v5.topic_changes import put_group
from fakemq.broker.v5_3.broker import Broker53, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import body_of
from fakemq.protocol import table
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.table import NoHeader


@handles(table.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP)
def update_and_create_subscriptiongroup(
    broker: Broker53, request: Request[NoHeader]
) -> Reply[NoHeader]:
    put_group(broker, SubscriptionGroupConfig.decode(body_of(request)))
    return Reply()
