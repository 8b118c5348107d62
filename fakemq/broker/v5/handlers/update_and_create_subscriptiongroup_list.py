"""UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST (225): create or change several subscription groups.

Refused: a name that no group can have: INVALID_PARAMETER, and no group is changed; wrong
attributes: SYSTEM_ERROR, and those before are changed.

Source: broker/processor/AdminBrokerProcessor.java#updateAndCreateSubscriptionGroupList (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.topic_changes import check_group, put_group
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import body_of
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.bodies.tables import SubscriptionGroupList


@handles(table.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST)
def update_and_create_subscriptiongroup_list(
    broker: Broker5, request: Request[NoHeader]
) -> Reply[NoHeader]:
    configs = SubscriptionGroupList.decode(body_of(request)).group_config_list
    for config in configs:
        check_group(broker, config.group_name)
    for config in configs:
        put_group(broker, config)
    return Reply()
