"""GET_ALL_MESSAGE_REQUEST_MODE (402): return the modes of all groups, as slaves ask for them.

Source: broker/processor/AdminBrokerProcessor.java#getAllMessageRequestMode (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.v5.handlers import handles
from fakemq.broker.v5.parts import parts_of
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table


@handles(table.GET_ALL_MESSAGE_REQUEST_MODE)
def get_all_message_request_mode(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    return Reply(body=parts_of(broker).pop.modes.persisted().encode())
