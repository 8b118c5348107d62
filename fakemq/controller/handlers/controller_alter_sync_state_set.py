"""CONTROLLER_ALTER_SYNC_STATE_SET (1001): the master of a group has another set in sync.

Behaviour: the whole set is in the body. It replaces the old one if both epochs are the present.
Refused: the equal set, before all else: CONTROLLER_ALTER_SYNC_STATE_SET_FAILED, as a set without
the master; another master, an old epoch, a replica that is unknown or dead: a code for each.

Source: controller/impl/manager/ReplicasInfoManager.java#alterSyncStateSet (5.5.0)
"""

from __future__ import annotations

from fakemq.controller import decide
from fakemq.controller.controller import Controller, handles
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.dispatch.outcomes import readable_json, required
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.bodies.controller import SyncStateSet
from fakemq.protocol.v5.headers.controller import (
    AlterSyncStateSetRequestHeader,
    AlterSyncStateSetResponseHeader,
)


@handles(table.CONTROLLER_ALTER_SYNC_STATE_SET)
def controller_alter_sync_state_set(
    node: Controller, request: Request[AlterSyncStateSetRequestHeader]
) -> Reply[AlterSyncStateSetResponseHeader] | Parked[AlterSyncStateSetResponseHeader]:
    body = readable_json(request.body)
    asked = SyncStateSet.decode_or_null(body) if body else None
    if asked is not None:
        required(asked.sync_state_set, "SyncStateSet", "syncStateSet")

    def made() -> decide.Decision[AlterSyncStateSetResponseHeader]:
        given = required(asked, "RemotingSerializable", "syncStateSet")
        state, alive = node.group.state, node.liveness
        return decide.alter_sync_state_set(state, request.header, given, alive)

    return node.carry_out(made)
