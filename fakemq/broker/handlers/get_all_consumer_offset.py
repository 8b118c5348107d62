"""GET_ALL_CONSUMER_OFFSET (43): all committed offsets; slaves ask for it.

Source: broker/processor/AdminBrokerProcessor.java#getAllConsumerOffset (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.handlers import handles
from fakemq.dispatch.dispatcher import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.offset import ConsumerOffsetSerializeWrapper
from fakemq.protocol.table import NoHeader

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker


@handles(table.GET_ALL_CONSUMER_OFFSET)
def get_all_consumer_offset(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    return Reply(body=ConsumerOffsetSerializeWrapper(offset_table=broker.offsets.table()).encode())
