"""DELETE_KV_CONFIG (102): remove one value of the KV config.

Behaviour: SUCCESS, whether it was there or not. The namespace stays, empty perhaps.
Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#deleteKVConfig (4.9.7)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Reply, Request
from fakemq.namesrv.handlers import or_null
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.headers.kv import DeleteKVConfigRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.DELETE_KV_CONFIG)
def delete_kv_config(
    node: NameServer, request: Request[DeleteKVConfigRequestHeader]
) -> Reply[NoHeader]:
    node.kv.delete(or_null(request.header, "namespace"), or_null(request.header, "key"))
    return Reply()
