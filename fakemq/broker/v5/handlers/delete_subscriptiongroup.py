"""DELETE_SUBSCRIPTIONGROUP (207): delete a subscription group.

Behaviour: as in 4.9.7, but its offsets are deleted only with ``cleanOffset``; what it is forbidden
goes, too. A slave deletes it, too.
Ignored: ``removeOffset``, as 4.9.7 calls it.

Source: broker/processor/AdminBrokerProcessor.java#deleteSubscriptionGroup (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.group import DeleteSubscriptionGroupRequestHeader5


@handles(table.DELETE_SUBSCRIPTIONGROUP)
def delete_subscriptiongroup(
    broker: Broker5, request: Request[DeleteSubscriptionGroupRequestHeader5]
) -> Steps[Reply[NoHeader]]:
    header = request.header
    group = header.group_name
    broker.groups.delete(group)
    broker.forbidden.delete(group)
    if header.clean_offset:
        yield from broker.offsets.remove(group)
        yield from broker.pull_offsets.forget(group)
    if broker.config.auto_delete_unused_stats:
        broker.stats.on_group_deleted(group)
    return Reply()
