"""CONTROLLER_GET_NEXT_BROKER_ID (1012): which id a broker may apply for.

Behaviour: 1 for an unknown group; else as many as there were applications, and one more.

Source: controller/impl/manager/ReplicasInfoManager.java#getNextBrokerId (5.5.0)
"""

from __future__ import annotations

from fakemq.controller import decide
from fakemq.controller.controller import Controller, handles
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.controller import (
    GetNextBrokerIdRequestHeader,
    GetNextBrokerIdResponseHeader,
)


@handles(table.CONTROLLER_GET_NEXT_BROKER_ID)
def controller_get_next_broker_id(
    node: Controller, request: Request[GetNextBrokerIdRequestHeader]
) -> Reply[GetNextBrokerIdResponseHeader] | Parked[GetNextBrokerIdResponseHeader]:
    return node.carry_out(lambda: decide.get_next_broker_id(node.group.state, request.header))
