"""CONTROLLER_REGISTER_BROKER (1003): a broker that has an id says where it is.

Behaviour: the answer has the master if its heartbeats come, in the cluster that the request names,
and the set in its body. A new address is noted.
Refused: an unknown group or id: CONTROLLER_BROKER_NEED_TO_BE_REGISTERED.

Source: controller/impl/manager/ReplicasInfoManager.java#registerBroker (5.5.0)
"""

from __future__ import annotations

from fakemq.controller import decide
from fakemq.controller.controller import Controller, handles
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.controller import (
    RegisterBrokerToControllerRequestHeader,
    RegisterBrokerToControllerResponseHeader,
)


@handles(table.CONTROLLER_REGISTER_BROKER)
def controller_register_broker(
    node: Controller, request: Request[RegisterBrokerToControllerRequestHeader]
) -> (
    Reply[RegisterBrokerToControllerResponseHeader]
    | Parked[RegisterBrokerToControllerResponseHeader]
):
    return node.carry_out(
        lambda: decide.register_broker(node.group.state, request.header, node.liveness)
    )
