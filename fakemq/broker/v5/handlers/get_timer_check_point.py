"""GET_TIMER_CHECK_POINT (60): return how far timer messages are read, as the file ``timercheck``.

Refused: with timerWheelEnable=false.

Source: broker/processor/AdminBrokerProcessor.java#getTimerCheckPoint (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table


@handles(table.GET_TIMER_CHECK_POINT)
def get_timer_check_point(broker: Broker5, request: Request[NoHeader]) -> Reply[NoHeader]:
    timers = broker.timers
    if not timers.running:
        raise Refused(ResponseCode.SYSTEM_ERROR, "The checkpoint is null")
    return Reply(body=timers.checkpoint().encode())
