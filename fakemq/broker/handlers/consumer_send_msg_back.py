"""CONSUMER_SEND_MSG_BACK (36): a consumer returns a message, to receive it again later.

Behaviour: see `fakemq.broker.sending.retry`.
Ignored: ``originMsgId``, ``originTopic`` (they are for hooks, and there are none), ``bname``.

Source: broker/processor/SendMessageProcessor.java#asyncConsumerSendMsgBack (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.sending.retry import send_back
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.CONSUMER_SEND_MSG_BACK)
def consumer_send_msg_back(
    broker: Broker, request: Request[ConsumerSendMsgBackRequestHeader]
) -> Reply[NoHeader]:
    send_back(broker, request.command, request.header)
    return Reply()
