"""GET_KV_CONFIG (101): one value of the KV config.

Refused: no such namespace, or no such key in it: QUERY_NOT_FOUND.
Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#getKVConfig (4.9.7)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.namesrv.handlers import or_null
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.kv import GetKVConfigRequestHeader, GetKVConfigResponseHeader


@handles(table.GET_KV_CONFIG)
def get_kv_config(
    node: NameServer, request: Request[GetKVConfigRequestHeader]
) -> Reply[GetKVConfigResponseHeader]:
    namespace, key = or_null(request.header, "namespace"), or_null(request.header, "key")
    value = node.kv.get(namespace, key)
    if value is None:
        raise Refused(
            ResponseCode.QUERY_NOT_FOUND,
            f"No config item, Namespace: {namespace} Key: {key}",
        )
    return Reply(GetKVConfigResponseHeader(value=value))
