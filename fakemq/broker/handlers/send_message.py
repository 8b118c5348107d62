"""SEND_MESSAGE (10): store one message; the header has long names.

Clients send it with sendSmartMsg=false.
Behaviour: see `fakemq.broker.send`. With ``batch`` set the body is a batch here, too.
Ignored: ``bname``, ``producerGroup``.

Source: broker/processor/SendMessageProcessor.java#asyncSendMessage (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker, handles
from fakemq.broker.send import send
from fakemq.protocol import table

if TYPE_CHECKING:
    from fakemq.dispatch.answers import Parked, Reply, Request
    from fakemq.protocol.headers.send import (
        SendMessageRequestHeader,
        SendMessageResponseHeader,
    )


@handles(table.SEND_MESSAGE)
def send_message(
    broker: Broker, request: Request[SendMessageRequestHeader]
) -> Reply[SendMessageResponseHeader] | Parked[SendMessageResponseHeader] | None:
    return send(broker, request)
