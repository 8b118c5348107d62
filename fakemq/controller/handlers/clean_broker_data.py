"""CLEAN_BROKER_DATA (1011): forget some ids of a group, or the group.

Behaviour: with isCleanLivingBroker the ids count for nothing, and the group is forgotten.
Refused: without ids, a group that has a master, dead or alive; an id that lives, or is no number;
an unknown group: CONTROLLER_INVALID_CLEAN_BROKER_METADATA.

Source: controller/impl/manager/ReplicasInfoManager.java#cleanBrokerData (5.5.0)
"""

from __future__ import annotations

from fakemq.controller import decide
from fakemq.controller.controller import Controller, handles
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.controller import CleanControllerBrokerDataRequestHeader


@handles(table.CLEAN_BROKER_DATA)
def clean_broker_data(
    node: Controller, request: Request[CleanControllerBrokerDataRequestHeader]
) -> Reply[NoHeader] | Parked[NoHeader]:
    return node.carry_out(
        lambda: decide.clean_broker_data(node.group.state, request.header, node.liveness)
    )
