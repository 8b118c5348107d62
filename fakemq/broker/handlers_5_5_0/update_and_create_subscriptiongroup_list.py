"""UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST (225): create or change several subscription groups.

Refused: a name that no group can have: INVALID_PARAMETER, and no group is changed; wrong
attributes: SYSTEM_ERROR, and those before are changed.

Source: broker/processor/AdminBrokerProcessor.java#updateAndCreateSubscriptionGroupList (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.handlers_5_5_0 import handles
from fakemq.broker.topic_changes import check_group, put_group
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.java_errors import body_of
from fakemq.protocol import table_5_5_0
from fakemq.protocol.bodies.lists_5_5_0 import SubscriptionGroupList
from fakemq.protocol.table import NoHeader


@handles(table_5_5_0.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST)
def update_and_create_subscriptiongroup_list(
    broker: Broker, request: Request[NoHeader]
) -> Reply[NoHeader]:
    configs = SubscriptionGroupList.decode(body_of(request)).group_config_list
    for config in configs:
        check_group(config.group_name)
    for config in configs:
        put_group(broker, config)
    return Reply()
