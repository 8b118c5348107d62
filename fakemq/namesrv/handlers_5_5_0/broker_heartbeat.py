"""BROKER_HEARTBEAT (904): a broker lives; its silence counts from now.

Behaviour: SUCCESS also for a broker that is not registered.

Source: namesrv/processor/DefaultRequestProcessor.java#brokerHeartbeat (5.5.0)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Reply, Request
from fakemq.namesrv.handlers_5_5_0 import handles
from fakemq.namesrv.namesrv import NameServer
from fakemq.protocol import table_5_5_0
from fakemq.protocol.headers.namesrv_5_5_0 import BrokerHeartbeatRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table_5_5_0.BROKER_HEARTBEAT)
def broker_heartbeat(
    node: NameServer, request: Request[BrokerHeartbeatRequestHeader]
) -> Reply[NoHeader]:
    node.registration.update_timestamp(request.header.broker_addr)
    return Reply()
