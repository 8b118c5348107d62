"""CHANGE_MESSAGE_INVISIBLETIME (200053): a popped message becomes visible at another time.

Source: broker/processor/ChangeInvisibleTimeProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.handlers_5_5_0 import handles
from fakemq.broker.pop.invisible import change_invisible_time
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table_5_5_0
from fakemq.protocol.headers.pop import (
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
)


@handles(table_5_5_0.CHANGE_MESSAGE_INVISIBLETIME)
def change_message_invisibletime(
    broker: Broker, request: Request[ChangeInvisibleTimeRequestHeader]
) -> Reply[ChangeInvisibleTimeResponseHeader]:
    return change_invisible_time(broker, request)
