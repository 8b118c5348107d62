"""UPDATE_AND_GET_GROUP_FORBIDDEN (353): forbid a group a topic, or allow it, or say which it is.

Behaviour: without ``readable`` nothing changes. To allow one topic allows the group all topics.
Only pulls by the subscription of a heartbeat are refused.
Differs: Java keeps what is forbidden over restarts.

Source: broker/processor/AdminBrokerProcessor.java#updateAndGetGroupForbidden,
broker/subscription/SubscriptionGroupManager.java#updateForbidden (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.bodies.tables import GroupForbidden
from fakemq.protocol.v5.headers.group import UpdateGroupForbiddenRequestHeader


@handles(table.UPDATE_AND_GET_GROUP_FORBIDDEN)
def update_and_get_group_forbidden(
    broker: Broker5, request: Request[UpdateGroupForbiddenRequestHeader]
) -> Reply[NoHeader]:
    header, forbidden = request.header, broker.forbidden
    group, topic = header.group, header.topic
    if header.readable is not None:
        forbidden.update(group, topic, readable=header.readable)
    readable = not forbidden.is_forbidden(group, topic)
    body = GroupForbidden(group=group, topic=topic, readable=readable)
    return Reply(body=body.encode(), remark="")
