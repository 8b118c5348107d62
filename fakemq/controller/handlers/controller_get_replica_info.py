"""CONTROLLER_GET_REPLICA_INFO (1004): which broker is the master of a group, and which are in sync.

Behaviour: the fields of the master are absent while there is none; the epoch is always there.
Refused: an unknown group: CONTROLLER_BROKER_METADATA_NOT_EXIST.

Source: controller/impl/manager/ReplicasInfoManager.java#getReplicaInfo (5.5.0)
"""

from __future__ import annotations

from fakemq.controller import decide
from fakemq.controller.controller import Controller, handles
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.controller import (
    GetReplicaInfoRequestHeader,
    GetReplicaInfoResponseHeader,
)


@handles(table.CONTROLLER_GET_REPLICA_INFO)
def controller_get_replica_info(
    node: Controller, request: Request[GetReplicaInfoRequestHeader]
) -> Reply[GetReplicaInfoResponseHeader] | Parked[GetReplicaInfoResponseHeader]:
    return node.carry_out(lambda: decide.get_replica_info(node.group.state, request.header))
