"""CONSUMER_SEND_MSG_BACK (36): a consumer returns a message, to receive it again later.

Behaviour: as in 4.9.7, but for slaves, which refuse it at once.

Source: broker/processor/SendMessageProcessor.java#rejectRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.sending.retry import send_back
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.send import check_takes_messages
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.CONSUMER_SEND_MSG_BACK)
def consumer_send_msg_back(
    broker: Broker5, request: Request[ConsumerSendMsgBackRequestHeader]
) -> Reply[NoHeader]:
    check_takes_messages(broker)
    send_back(broker, request.command, request.header)
    return Reply()
