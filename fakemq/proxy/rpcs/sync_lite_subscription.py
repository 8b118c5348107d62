"""SyncLiteSubscription: a client says which lite topics it wants.

Refused: always, as the last check, because lite topics are out of scope; before that what Java
refuses: a group that is not bound to the topic, which is every usual group.

Source: proxy/grpc/v2/client/ClientActivity.java#syncLiteSubscription,
proxy/processor/ClientProcessor.java#validateLiteBindTopic (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.proxy.checks import check_count, check_lite_topic, checked_group, checked_topic
from fakemq.proxy.registration import bound_topic
from fakemq.proxy.registry import handles
from fakemq.proxy.status import Code, RpcError

if TYPE_CHECKING:
    from typing import NoReturn

    from fakemq.protocol.grpc.messages import SyncLiteSubscriptionRequest
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy

_PARTIAL_ADD: Final = 0


@handles("SyncLiteSubscription")
def sync_lite_subscription(
    proxy: Proxy, context: Context, request: SyncLiteSubscriptionRequest
) -> NoReturn:
    topic, group = checked_topic(request.topic), checked_group(request.group)
    check_count(len(request.lite_topic_set), "lite topics")
    if request.action == _PARTIAL_ADD:
        for lite_topic in request.lite_topic_set:
            check_lite_topic(lite_topic)
    bound = bound_topic(proxy, group)
    if bound != topic:
        raise RpcError(
            Code.ILLEGAL_TOPIC,
            f"lite group {group} is expected to bind topic {bound or 'null'},"
            f" but actual is {topic}",
        )
    raise RpcError(Code.NOT_IMPLEMENTED, "lite topics are out of fakemq's scope")
