"""ChangeInvisibleDuration: a received message becomes visible at another time.

Behaviour: the answer has the new handle. Of a message that the front renews, the newest handle
counts, which a renewal under way may bring, and it is renewed no more.
Refused: a time that is negative or over 12 h; a handle that is none, or whose time is over.

Source: proxy/grpc/v2/consumer/ChangeInvisibleDurationActivity.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.grpc.messages import ChangeInvisibleDurationResponse
from fakemq.proxy.checks import check_invisible_time, checked_group, checked_topic
from fakemq.proxy.consuming import change_invisible_time, require_client
from fakemq.proxy.receipts import decode
from fakemq.proxy.registry import handles
from fakemq.proxy.status import OK, Code, RpcError
from fakemq.proxy.times import duration_ms

if TYPE_CHECKING:
    from fakemq.later import Waits
    from fakemq.protocol.grpc.messages import ChangeInvisibleDurationRequest
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy


@handles("ChangeInvisibleDuration")
def change_invisible_duration(
    proxy: Proxy, context: Context, request: ChangeInvisibleDurationRequest
) -> Waits[ChangeInvisibleDurationResponse]:
    topic, group = checked_topic(request.topic), checked_group(request.group)
    ms = duration_ms(request.invisible_duration)
    check_invisible_time(ms)
    handle = decode(request.receipt_handle)
    require_client(proxy, context.client_id)
    handle = yield from proxy.renewals.take(context.client_id, group, request.message_id, handle)
    text = yield from change_invisible_time(
        proxy,
        context.session,
        handle,
        group,
        topic,
        ms,
        suspend=request.suspend,
        lite_topic=request.lite_topic or None,
    )
    if text is None:
        raise RpcError(
            Code.INTERNAL_SERVER_ERROR, "changeInvisibleDuration failed: status is abnormal"
        )
    return ChangeInvisibleDurationResponse(status=OK, receipt_handle=text)
