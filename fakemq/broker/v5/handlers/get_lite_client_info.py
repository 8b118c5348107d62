"""GET_LITE_CLIENT_INFO (200077): return the lite topics to which a client subscribes.

Refused: an unknown parent or group, a group that is bound to another parent.

Source: broker/processor/LiteManagerProcessor.java#getLiteClientInfo (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.lite.tools import client_info
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.lite import GetLiteClientInfoRequestHeader


@handles(table.GET_LITE_CLIENT_INFO)
def get_lite_client_info(
    broker: Broker5, request: Request[GetLiteClientInfoRequestHeader]
) -> Reply[NoHeader]:
    return client_info(broker, request.header)
