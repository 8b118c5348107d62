"""CONTROLLER_APPLY_BROKER_ID (1013): a broker wants to have an id, for good.

Behaviour: the same check code again is the same broker, whose answer was lost. The first id of a
group, 1, makes the group.
Refused: an id of another broker, and any but 1 in a new group: CONTROLLER_BROKER_ID_INVALID.
Differs: a group has at most 1,000 ids.

Source: controller/impl/manager/ReplicasInfoManager.java#applyBrokerId (5.5.0)
"""

from __future__ import annotations

from fakemq.controller import decide
from fakemq.controller.controller import Controller, handles
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.controller import (
    ApplyBrokerIdRequestHeader,
    ApplyBrokerIdResponseHeader,
)


@handles(table.CONTROLLER_APPLY_BROKER_ID)
def controller_apply_broker_id(
    node: Controller, request: Request[ApplyBrokerIdRequestHeader]
) -> Reply[ApplyBrokerIdResponseHeader] | Parked[ApplyBrokerIdResponseHeader]:
    return node.carry_out(lambda: decide.apply_broker_id(node.group.state, request.header))
