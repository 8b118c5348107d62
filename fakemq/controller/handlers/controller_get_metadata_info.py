"""CONTROLLER_GET_METADATA_INFO (1005): which controllers there are, and which one leads.

Behaviour: any of them answers, and a follower says what it believes. Without a leader its address
is absent, and its id, too; with jRaft the id is empty.

Source: controller/impl/DLedgerController.java#getControllerMetadata, JRaftController.java (5.5.0)
"""

from __future__ import annotations

from fakemq.controller.controller import Controller, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.controller import GetMetaDataResponseHeader


@handles(table.CONTROLLER_GET_METADATA_INFO)
def controller_get_metadata_info(
    node: Controller, request: Request[NoHeader]
) -> Reply[GetMetaDataResponseHeader]:
    group = node.group
    leader = group.named_leader(node)
    no_id = "" if group.is_jraft else None
    return Reply(
        GetMetaDataResponseHeader(
            group=group.name,
            controller_leader_id=no_id if leader is None else leader.peer_id,
            controller_leader_address=None if leader is None else leader.addr,
            is_leader=leader is node,
            peers=group.peers,
        )
    )
