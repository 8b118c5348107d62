"""SEND_MESSAGE_V2 (310): store one message; the header has one-letter names, the clients' default.

Behaviour: see `fakemq.broker.send`. With ``m`` set the body is a batch here, too.
Ignored: ``n`` (the broker's name), ``a`` (the producer group).

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
        SendMessageRequestHeaderV2,
        SendMessageResponseHeader,
    )


@handles(table.SEND_MESSAGE_V2)
def send_message_v2(
    broker: Broker, request: Request[SendMessageRequestHeaderV2]
) -> Reply[SendMessageResponseHeader] | Parked[SendMessageResponseHeader] | None:
    return send(broker, request)
