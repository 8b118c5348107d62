"""GET_ALL_DELAY_OFFSET (45): return the progress of every delay level; slaves send it.

Source: broker/processor/AdminBrokerProcessor.java#getAllDelayOffset (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader


@handles(table.GET_ALL_DELAY_OFFSET)
def get_all_delay_offset(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    return Reply(body=broker.delay.encode())
