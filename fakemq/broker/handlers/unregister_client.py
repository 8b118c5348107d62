"""UNREGISTER_CLIENT (35): remove a client from a producer group, a consumer group or both.

Source: broker/processor/ClientManageProcessor.java#unregisterClient (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.client import (
    UnregisterClientRequestHeader,
    UnregisterClientResponseHeader,
)


@handles(table.UNREGISTER_CLIENT)
def unregister_client(
    broker: Broker, request: Request[UnregisterClientRequestHeader]
) -> Steps[Reply[UnregisterClientResponseHeader]]:
    header, session = request.header, request.session
    if header.producer_group is not None:
        client_id: str | None = header.get("client_id", None)
        broker.producers.unregister(header.producer_group, session, client_id)
    if header.consumer_group is not None:
        config = broker.groups.find(header.consumer_group)
        yield from broker.consumers.unregister(
            header.consumer_group,
            session,
            notify=config is None or config.notify_consumer_ids_changed_enable,
        )
    broker.client_expiry.watch(session)
    return Reply(UnregisterClientResponseHeader())
