"""NOTIFICATION (200054): tell whether there is something to pop, as soon as there is.

Source: broker/processor/NotificationProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.handlers_5_5_0 import handles
from fakemq.broker.pop.notification import notification as notify
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.protocol import table_5_5_0
from fakemq.protocol.headers.pop import NotificationRequestHeader, NotificationResponseHeader


@handles(table_5_5_0.NOTIFICATION)
def notification(
    broker: Broker, request: Request[NotificationRequestHeader]
) -> Reply[NotificationResponseHeader] | Parked[NotificationResponseHeader]:
    return notify(broker, request)
