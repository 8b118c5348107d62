"""CONTROLLER_ELECT_MASTER (1002): a broker, or an admin, wants a group to have a master.

Behaviour: the first master ever is the broker that asks. Later the present one stays if it lives:
CONTROLLER_MASTER_STILL_EXIST, with all that a broker needs. Else a member of the set is elected
that lives, or, by enableElectUncleanMaster, any replica that lives. Living brokers are notified.
Refused: an unknown group: CONTROLLER_BROKER_NEED_TO_BE_REGISTERED; if there is none to elect:
CONTROLLER_ELECT_MASTER_FAILED, or, for no broker (-1), CONTROLLER_MASTER_NOT_AVAILABLE, and then
the old master is forgotten.

Source: controller/impl/manager/ReplicasInfoManager.java#electMaster (5.5.0)
"""

from __future__ import annotations

from fakemq.controller.controller import Controller, handles
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.controller import (
    ElectMasterRequestHeader,
    ElectMasterResponseHeader,
)


@handles(table.CONTROLLER_ELECT_MASTER)
def controller_elect_master(
    node: Controller, request: Request[ElectMasterRequestHeader]
) -> Reply[ElectMasterResponseHeader] | Parked[ElectMasterResponseHeader]:
    header = request.header
    why = "designated" if header.designate_elect else "asked"
    return node.carry_out(lambda: node.decide_election(header), why, node.notify)
