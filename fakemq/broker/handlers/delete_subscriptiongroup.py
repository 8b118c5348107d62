"""DELETE_SUBSCRIPTIONGROUP (207): delete a subscription group.

Behaviour: its members are not notified. The next request that names the group creates it again, if
the broker creates groups. Its offsets are deleted only with ``removeOffset``, or ``cleanOffset`` as
5.x calls it; its retry and dead-letter topics stay. A group that does not exist is SUCCESS.
Refused: at a slave: SYSTEM_ERROR.
Differs: 4.9.7 does not know the name ``cleanOffset``.

Source: broker/processor/AdminBrokerProcessor.java#deleteSubscriptionGroup (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.sending.checks import check_not_slave
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.header import parse_bool
from fakemq.protocol.headers.group import DeleteSubscriptionGroupRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.DELETE_SUBSCRIPTIONGROUP)
def delete_subscriptiongroup(
    broker: Broker, request: Request[DeleteSubscriptionGroupRequestHeader]
) -> Steps[Reply[NoHeader]]:
    check_not_slave(broker)
    header = request.header
    broker.groups.delete(header.group_name)
    # The name of 5.x is in no header of 4.9.7.
    if header.remove_offset or parse_bool(request.command.ext_fields.get("cleanOffset", "")):
        yield from broker.offsets.remove(header.group_name)
    if broker.config.auto_delete_unused_stats:
        broker.stats.on_group_deleted(header.group_name)
    return Reply()
