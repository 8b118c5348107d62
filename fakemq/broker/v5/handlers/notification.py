"""NOTIFICATION (200054): tell whether there is something to pop, as soon as there is.

Source: broker/processor/NotificationProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.pop.notification import notification as notify
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.protocol.headers.pop import NotificationRequestHeader, NotificationResponseHeader
from fakemq.protocol.v5 import table


@handles(table.NOTIFICATION)
def notification(
    broker: Broker5, request: Request[NotificationRequestHeader]
) -> Reply[NotificationResponseHeader] | Parked[NotificationResponseHeader]:
    return notify(broker, request)
