"""BROKER_HEARTBEAT (904): a broker lives, and how far its log goes.

Behaviour: brokers send it one-way, to each controller. Whether the broker has registered counts for
nothing.
Refused: one without an id: CONTROLLER_INVALID_REQUEST.

Source: controller/processor/ControllerRequestProcessor.java#handleBrokerHeartbeat (5.5.0)
"""

from __future__ import annotations

from fakemq.controller.controller import Controller, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.codes import ResponseCode5
from fakemq.protocol.v5.headers.namesrv import BrokerHeartbeatRequestHeader


@handles(table.BROKER_HEARTBEAT)
def broker_heartbeat(
    node: Controller, request: Request[BrokerHeartbeatRequestHeader]
) -> Reply[NoHeader]:
    broker_id = request.header.broker_id
    if broker_id is None:
        raise Refused(ResponseCode5.CONTROLLER_INVALID_REQUEST, "Heart beat with empty brokerId")
    node.liveness.beat(request.header, broker_id, request.session)
    return Reply(remark="Heart beat success")
