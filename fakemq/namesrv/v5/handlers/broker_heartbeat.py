"""BROKER_HEARTBEAT (904): a broker lives; its silence counts from now.

Behaviour: SUCCESS also for a broker that is not registered.

Source: namesrv/processor/DefaultRequestProcessor.java#brokerHeartbeat (5.5.0)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Reply, Request
from fakemq.namesrv.v5.namesrv import NameServer5, handles
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.namesrv import BrokerHeartbeatRequestHeader


@handles(table.BROKER_HEARTBEAT)
def broker_heartbeat(
    node: NameServer5, request: Request[BrokerHeartbeatRequestHeader]
) -> Reply[NoHeader]:
    node.registration.update_timestamp(request.header.broker_addr)
    return Reply()
