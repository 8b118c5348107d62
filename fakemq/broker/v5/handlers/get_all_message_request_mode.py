"""GET_ALL_MESSAGE_REQUEST_MODE (402): return the modes of all groups, as slaves ask for them.

Source: broker/processor/AdminBrokerProcessor.java#getAllMessageRequestMode (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table


@handles(table.GET_ALL_MESSAGE_REQUEST_MODE)
def get_all_message_request_mode(broker: Broker5, request: Request[NoHeader]) -> Reply[NoHeader]:
    return Reply(body=broker.pop.modes.persisted().encode())
