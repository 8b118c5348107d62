"""CONSUMER_SEND_MSG_BACK (36): a consumer returns a message, to receive it again later.

Behaviour: as in 4.9.7, but for slaves, which refuse it at once; those that may act as masters say
that no master is there.

Source: broker/processor/SendMessageProcessor.java#rejectRequest,
broker/processor/AbstractSendMessageProcessor.java#consumerSendMsgBack (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.sending.retry import send_back
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.send import check_takes_messages
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.CONSUMER_SEND_MSG_BACK)
def consumer_send_msg_back(
    broker: Broker5, request: Request[ConsumerSendMsgBackRequestHeader]
) -> Reply[NoHeader]:
    check_takes_messages(broker)
    if broker.acting is not None and not broker.acting.is_master:
        ip = broker.config.broker_ip1
        raise Refused(ResponseCode.SYSTEM_ERROR, f"no master available along with {ip}")
    send_back(broker, request.command, request.header)
    return Reply()
