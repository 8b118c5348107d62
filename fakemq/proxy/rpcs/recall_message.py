"""RecallMessage: delete a timer message before it is delivered.

Refused: a topic of another type than DELAY or MIXED; a handle that is none, or of another topic.

Source: proxy/grpc/v2/producer/RecallMessageActivity.java,
proxy/processor/ProducerProcessor.java#recallMessage (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.dispatch.answers import Reply
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.grpc.messages import RecallMessageResponse
from fakemq.protocol.timers import RecallHandle
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.timer import (
    RecallMessageRequestHeader,
    RecallMessageResponseHeader,
)
from fakemq.proxy.checks import checked_topic
from fakemq.proxy.consuming import answer_header, raise_unless_success
from fakemq.proxy.messages import check_type
from fakemq.proxy.registry import handles
from fakemq.proxy.status import OK, Code, proxy_error

if TYPE_CHECKING:
    from fakemq.later import Waits
    from fakemq.protocol.grpc.messages import RecallMessageRequest
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy


@handles("RecallMessage")
def recall_message(
    proxy: Proxy, context: Context, request: RecallMessageRequest
) -> Waits[RecallMessageResponse]:
    topic = checked_topic(request.topic)
    check_type(proxy.routes.message_type(topic), "DELAY")
    try:
        handle = RecallHandle.decode(request.recall_handle)
    except ValueError as error:
        raise proxy_error(Code.INTERNAL_SERVER_ERROR, str(error)) from None
    addr = proxy.routes.master_addr(handle.broker_name)
    if addr is None:
        raise proxy_error(Code.BAD_REQUEST, f"cannot find broker {handle.broker_name}")
    header = RecallMessageRequestHeader(
        topic=topic, recall_handle=request.recall_handle, bname=handle.broker_name
    )
    command = RemotingCommand(RequestCode5.RECALL_MESSAGE, ext_fields=header.encode())
    reply: Reply[Any] = yield proxy.calls.ask(context.session, addr, command)
    raise_unless_success(reply, addr)
    answer = answer_header(reply, RecallMessageResponseHeader)
    return RecallMessageResponse(status=OK, message_id=answer.msg_id)
