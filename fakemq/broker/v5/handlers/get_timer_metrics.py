"""GET_TIMER_METRICS (61): return how many timer messages wait for each topic.

Refused: with timerWheelEnable=false.

Source: broker/processor/AdminBrokerProcessor.java#getTimerMetrics (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table


@handles(table.GET_TIMER_METRICS)
def get_timer_metrics(broker: Broker5, request: Request[NoHeader]) -> Reply[NoHeader]:
    timers = broker.timers
    if not timers.running:
        raise Refused(ResponseCode.SYSTEM_ERROR, "The timer message store is null")
    return Reply(body=timers.metrics.persisted().encode())
