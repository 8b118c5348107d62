"""UPDATE_AND_CREATE_SUBSCRIPTIONGROUP (200): create a subscription group or change it.

Behaviour: the group is exactly what the body says, but for its attributes, which are changes.
Slaves answer, too. Name servers are not notified. Without a body nothing is changed.
Refused: a name that no group can have: INVALID_PARAMETER; wrong attributes: SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#updateAndCreateSubscriptionGroup (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.topic_changes import check_group, put_group
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import readable_json
from fakemq.protocol import table
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.errors import NullBodyError
from fakemq.protocol.table import NoHeader


@handles(table.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP)
def update_and_create_subscriptiongroup(
    broker: Broker5, request: Request[NoHeader]
) -> Reply[NoHeader]:
    body = request.body
    if not body:
        return Reply()
    try:
        config = SubscriptionGroupConfig.decode_or_null(readable_json(body))
    except NullBodyError:
        check_group(broker, "")
        raise
    if config is not None:
        check_group(broker, config.group_name)
        put_group(broker, config)
    return Reply()
