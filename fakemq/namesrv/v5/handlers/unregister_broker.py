"""UNREGISTER_BROKER (104): remove a broker that is about to stop.

Behaviour: as in 4.9.7, but without a broker id nothing is removed, and the answer is SUCCESS, too:
Java removes it later, and only its log says that this failed.
Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#unregisterBroker,
namesrv/routeinfo/BatchUnregistrationService.java (5.5.0)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Reply, Request
from fakemq.namesrv.handlers.unregister_broker import unregister
from fakemq.namesrv.v5.namesrv import NameServer5, handles
from fakemq.protocol import table
from fakemq.protocol.headers.namesrv import UnRegisterBrokerRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.UNREGISTER_BROKER)
def unregister_broker(
    node: NameServer5, request: Request[UnRegisterBrokerRequestHeader]
) -> Reply[NoHeader]:
    if request.header.get("broker_id", None) is not None:
        unregister(node, request.header)
    return Reply()
