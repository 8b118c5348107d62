"""UNREGISTER_BROKER (104): remove a broker that is about to stop.

Behaviour: SUCCESS always. Live info and filter servers go by the address, the entry among the
addresses by name and id; the last of a name takes its queues along.
Refused: a missing broker id: SYSTEM_ERROR. Other missing fields are null, which matches no broker.
Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#unregisterBroker (4.9.7)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Reply, Request
from fakemq.namesrv.handlers import or_null
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.headers.namesrv import UnRegisterBrokerRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.UNREGISTER_BROKER)
def unregister_broker(
    node: NameServer, request: Request[UnRegisterBrokerRequestHeader]
) -> Reply[NoHeader]:
    unregister(node, request.header)
    return Reply()


def unregister(node: NameServer, header: UnRegisterBrokerRequestHeader) -> None:
    """Remove the broker that a request names."""
    node.registration.unregister_broker(
        cluster_name=or_null(header, "cluster_name"),
        broker_addr=or_null(header, "broker_addr"),
        broker_name=or_null(header, "broker_name"),
        broker_id=header.broker_id,
    )
