"""GET_BROKER_LITE_INFO (200074): return how many lite topics and subscriptions a broker has.

Source: broker/processor/LiteManagerProcessor.java#getBrokerLiteInfo (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.lite.tools import broker_info
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table


@handles(table.GET_BROKER_LITE_INFO)
def get_broker_lite_info(broker: Broker5, request: Request[NoHeader]) -> Steps[Reply[NoHeader]]:
    return (yield from broker_info(broker))
