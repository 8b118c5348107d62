"""PUT_KV_CONFIG (100): set one value of the KV config.

Behaviour: answers SUCCESS once the value is in memory and, where there is a file, written to it;
a file that cannot be written is a warning in the journal. A null value removes the key.
Refused: namespace or key missing: SYSTEM_ERROR.
Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#putKVConfig (4.9.7)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import NullFieldError
from fakemq.protocol.headers.kv import PutKVConfigRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.PUT_KV_CONFIG)
def put_kv_config(node: NameServer, request: Request[PutKVConfigRequestHeader]) -> Reply[NoHeader]:
    header = request.header
    try:
        namespace, key = header.namespace, header.key
    except NullFieldError:
        raise Refused(ResponseCode.SYSTEM_ERROR, "namespace or key is null") from None
    node.kv.put(namespace, key, request.command.ext_fields.get("value"))
    return Reply()
