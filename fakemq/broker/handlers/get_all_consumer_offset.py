"""GET_ALL_CONSUMER_OFFSET (43): return all committed offsets; slaves send it.

Source: broker/processor/AdminBrokerProcessor.java#getAllConsumerOffset (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.offset import ConsumerOffsetSerializeWrapper
from fakemq.protocol.table import NoHeader


@handles(table.GET_ALL_CONSUMER_OFFSET)
def get_all_consumer_offset(broker: Broker, request: Request[NoHeader]) -> Steps[Reply[NoHeader]]:
    table = yield from broker.offsets.table()
    body = yield from ConsumerOffsetSerializeWrapper(offset_table=table).encode_in_steps()
    return Reply(body=body)
