"""GET_BROKER_CLUSTER_INFO (106): all brokers with their addresses, and the clusters they are in.

Ignored: the body, the request's version: broker ids are bare numbers in the JSON always.

Source: namesrv/processor/DefaultRequestProcessor.java#getBrokerClusterInfo (4.9.7)
"""

from __future__ import annotations

from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader


@handles(table.GET_BROKER_CLUSTER_INFO)
def get_broker_cluster_info(node: NameServer, request: Request[NoHeader]) -> Steps[Reply[NoHeader]]:
    info = yield from node.routes.cluster_info()
    return Reply(body=(yield from info.encode_in_steps()))
