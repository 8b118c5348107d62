"""ForwardMessageToDeadLetterQueue: a received message goes to the DLQ of its group.

Behaviour: the broker stores it there, then it is acknowledged; the answer does not wait for that.
Refused: a handle that is none, or says no place in the log; whether its time is over does not
matter.

Source: proxy/grpc/v2/producer/ForwardMessageToDLQActivity.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.grpc.messages import ForwardMessageToDeadLetterQueueResponse
from fakemq.proxy.checks import checked_group, checked_topic
from fakemq.proxy.consuming import bury, require_client, require_place
from fakemq.proxy.receipts import decode
from fakemq.proxy.registry import handles
from fakemq.proxy.status import code_of, status

if TYPE_CHECKING:
    from fakemq.later import Waits
    from fakemq.protocol.grpc.messages import ForwardMessageToDeadLetterQueueRequest
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy


@handles("ForwardMessageToDeadLetterQueue")
def forward_message_to_dead_letter_queue(
    proxy: Proxy, context: Context, request: ForwardMessageToDeadLetterQueueRequest
) -> Waits[ForwardMessageToDeadLetterQueueResponse]:
    topic, group = checked_topic(request.topic), checked_group(request.group)
    require_client(proxy, context.client_id)
    handle = decode(request.receipt_handle)
    require_place(proxy, handle, handle.topic_of(topic, group))
    handle = yield from proxy.renewals.take(context.client_id, group, request.message_id, handle)
    lite_topic = request.lite_topic if request.HasField("lite_topic") else None
    reply = yield from bury(
        proxy, context.session, handle, request.message_id, group, topic, lite_topic
    )
    text = str(reply.code) if reply.remark is None else reply.remark
    return ForwardMessageToDeadLetterQueueResponse(status=status(code_of(reply.code), text))
