"""CONTROLLER_GET_SYNC_STATE_DATA (1006): masters, epochs and replicas of some groups, for tools.

Behaviour: the body is a list of groups; unknown ones are left out. A replica is alive if its last
heartbeat counts, whether or not the expiry has noticed.
Refused: no body, or one without a name: SYSTEM_ERROR, Java's default of an answer.

Source: controller/processor/ControllerRequestProcessor.java#handleControllerGetSyncStateData,
controller/impl/manager/ReplicasInfoManager.java#getSyncStateData (5.5.0)
"""

from __future__ import annotations

from typing import Any

from fakemq.clock.slices import Steps
from fakemq.controller import decide
from fakemq.controller.controller import Controller, handles
from fakemq.dispatch.answers import NOTHING_SAID, Parked, Reply, Request
from fakemq.dispatch.outcomes import readable_json
from fakemq.protocol import fastjson
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import BodyError
from fakemq.protocol.limits import PEER_JSON
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.bodies.controller import BrokerReplicasInfo


@handles(table.CONTROLLER_GET_SYNC_STATE_DATA)
def controller_get_sync_state_data(
    node: Controller, request: Request[NoHeader]
) -> Steps[Reply[NoHeader] | Parked[NoHeader]]:
    names = _list_in(request.body)
    if not names:
        return Reply(code=ResponseCode.SYSTEM_ERROR, remark=NOTHING_SAID)
    node.require_leader()
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise node.thrown(BodyError("no list of names"))
    if node.reads_in_vain:
        return node.in_vain()
    yield
    info = BrokerReplicasInfo()
    for name in dict.fromkeys(names):
        found = decide.replicas_info(node.group.state, name, node.liveness)
        if found is not None:
            info.replicas_info_table[name] = found
        yield
    return Reply(body=(yield from info.encode_in_steps()))


def _list_in(body: bytes) -> Any:
    """Return what a body contains; raise BodyError if it is no JSON, or a text or number."""
    if not body:
        return None
    try:
        found = fastjson.loads(readable_json(body), PEER_JSON)
    except fastjson.JsonError as error:
        raise BodyError(f"no list of names: {error}") from None
    if found is not None and not isinstance(found, list | dict):
        raise BodyError("no list of names")
    return found
