"""SEND_REPLY_MESSAGE_V2 (325): as SEND_REPLY_MESSAGE (324); the header has one-letter names.

Behaviour: see `fakemq.broker.sending.reply`.
Ignored: ``n``, ``m``; the sysFlag of the stored reply is 0.

Source: broker/processor/ReplyMessageProcessor.java#processRequest (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker, handles
from fakemq.broker.sending.reply import reply
from fakemq.protocol import table

if TYPE_CHECKING:
    from fakemq.dispatch.answers import Parked, Reply, Request
    from fakemq.protocol.headers.send import (
        SendMessageRequestHeaderV2,
        SendMessageResponseHeader,
    )


@handles(table.SEND_REPLY_MESSAGE_V2)
def send_reply_message_v2(
    broker: Broker, request: Request[SendMessageRequestHeaderV2]
) -> Reply[SendMessageResponseHeader] | Parked[SendMessageResponseHeader]:
    return reply(broker, request)
