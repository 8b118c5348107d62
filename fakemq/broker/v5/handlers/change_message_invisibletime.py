"""CHANGE_MESSAGE_INVISIBLETIME (200053): a popped message becomes visible at another time.

Source: broker/processor/ChangeInvisibleTimeProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.pop.invisible import change_invisible_time
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.protocol.headers.pop import (
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
)
from fakemq.protocol.v5 import table


@handles(table.CHANGE_MESSAGE_INVISIBLETIME)
def change_message_invisibletime(
    broker: Broker5, request: Request[ChangeInvisibleTimeRequestHeader]
) -> Reply[ChangeInvisibleTimeResponseHeader] | Parked[ChangeInvisibleTimeResponseHeader]:
    lite = request.header.lite_topic
    if lite and broker.takes_lite(lite):
        from fakemq.broker.v5.lite.ack import change_lite  # few messages are of lite topics

        return change_invisible_time(broker, request, change_lite)
    return change_invisible_time(broker, request)
