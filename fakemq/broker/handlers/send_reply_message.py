"""SEND_REPLY_MESSAGE (324): pass on a reply to a request message; the header has long names.

Behaviour: see `fakemq.broker.sending.reply`.
Ignored: ``bname``, ``batch``; the sysFlag of the stored reply is 0.

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
        SendMessageRequestHeader,
        SendMessageResponseHeader,
    )


@handles(table.SEND_REPLY_MESSAGE)
def send_reply_message(
    broker: Broker, request: Request[SendMessageRequestHeader]
) -> Reply[SendMessageResponseHeader] | Parked[SendMessageResponseHeader]:
    return reply(broker, request)
