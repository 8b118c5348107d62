"""GET_BROKER_CLUSTER_INFO (106): all brokers with their addresses, and the clusters they are in.

Ignored: the body, the request's version: broker ids are bare numbers in the JSON always.

Source: namesrv/processor/DefaultRequestProcessor.java#getBrokerClusterInfo (4.9.7)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Reply, Request
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader


@handles(table.GET_BROKER_CLUSTER_INFO)
def get_broker_cluster_info(node: NameServer, request: Request[NoHeader]) -> Reply[NoHeader]:
    return Reply(body=node.routes.cluster_info().encode())
