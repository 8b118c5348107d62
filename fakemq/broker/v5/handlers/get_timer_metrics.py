"""GET_TIMER_METRICS (61): return how many timer messages wait for each topic.

Refused: with timerWheelEnable=false.

Source: broker/processor/AdminBrokerProcessor.java#getTimerMetrics (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.v5.handlers import handles
from fakemq.broker.v5.parts import parts_of
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table


@handles(table.GET_TIMER_METRICS)
def get_timer_metrics(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    timers = parts_of(broker).timers
    if not timers.running:
        raise Refused(ResponseCode.SYSTEM_ERROR, "The timer message store is null")
    return Reply(body=timers.metrics.persisted().encode())
