"""GET_ALL_CONSUMER_OFFSET (43): return all committed offsets; slaves send it.

Behaviour: with enableLmq the offsets of light groups are in a second table, which slaves ignore.

Source: broker/processor/AdminBrokerProcessor.java#getAllConsumerOffset (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader


@handles(table.GET_ALL_CONSUMER_OFFSET)
def get_all_consumer_offset(broker: Broker, request: Request[NoHeader]) -> Steps[Reply[NoHeader]]:
    offsets = yield from broker.offsets.wrapper()
    body = yield from offsets.encode_in_steps()
    return Reply(body=body)
