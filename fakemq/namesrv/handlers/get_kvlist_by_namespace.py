"""GET_KVLIST_BY_NAMESPACE (219): all values of one namespace of the KV config.

Refused: nothing was ever put in the namespace: QUERY_NOT_FOUND.
Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#getKVListByNamespace (4.9.7)
"""

from __future__ import annotations

from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.namesrv.handlers import or_null
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.kv import GetKVListByNamespaceRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.GET_KVLIST_BY_NAMESPACE)
def get_kvlist_by_namespace(
    node: NameServer, request: Request[GetKVListByNamespaceRequestHeader]
) -> Steps[Reply[NoHeader]]:
    namespace = or_null(request.header, "namespace")
    kv_table = yield from node.kv.kv_table_in_steps(namespace)
    if kv_table is None:
        raise Refused(ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {namespace}")
    return Reply(body=(yield from kv_table.encode_in_steps()))
