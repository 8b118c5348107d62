"""GET_BROKER_MEMBER_GROUP (901): return the addresses of the brokers of one name.

Behaviour: an unknown name has none. The cluster is the one that was asked for, whatever it is.

Source: namesrv/processor/DefaultRequestProcessor.java#getBrokerMemberGroup (5.5.0)
"""

from __future__ import annotations

from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import NOTHING_SAID, Reply, Request
from fakemq.namesrv.v5.namesrv import NameServer5, handles
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.bodies.route import BrokerMemberGroup, GetBrokerMemberGroupResponseBody
from fakemq.protocol.v5.headers.namesrv import GetBrokerMemberGroupRequestHeader


@handles(table.GET_BROKER_MEMBER_GROUP)
def get_broker_member_group(
    node: NameServer5, request: Request[GetBrokerMemberGroupRequestHeader]
) -> Steps[Reply[NoHeader]]:
    name = request.header.broker_name
    found = node.tables.broker_addr_table.get(name)
    group = BrokerMemberGroup(
        cluster=request.header.cluster_name,
        broker_name=name,
        broker_addrs={} if found is None else dict(sorted(found.broker_addrs.items())),
    )
    yield
    body = yield from GetBrokerMemberGroupResponseBody(broker_member_group=group).encode_in_steps()
    return Reply(body=body, remark=NOTHING_SAID)
