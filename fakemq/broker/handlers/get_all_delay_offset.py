"""GET_ALL_DELAY_OFFSET (45): how far each delay level is delivered; slaves ask for it.

Source: broker/processor/AdminBrokerProcessor.java#getAllDelayOffset (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.handlers import handles
from fakemq.dispatch.dispatcher import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker


@handles(table.GET_ALL_DELAY_OFFSET)
def get_all_delay_offset(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    return Reply(body=broker.delay.encode())
