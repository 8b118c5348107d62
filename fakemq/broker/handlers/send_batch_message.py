"""SEND_BATCH_MESSAGE (320): store many messages of one topic, sent in one body (header m=true).

Behaviour: see `fakemq.broker.send`. Without ``m`` the body is one message.
Ignored: ``n`` (the broker's name), ``a`` (the producer group).

Source: broker/processor/SendMessageProcessor.java#asyncSendBatchMessage (4.9.7)
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


@handles(table.SEND_BATCH_MESSAGE)
def send_batch_message(
    broker: Broker, request: Request[SendMessageRequestHeaderV2]
) -> Reply[SendMessageResponseHeader] | Parked[SendMessageResponseHeader] | None:
    return send(broker, request)
