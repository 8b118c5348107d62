"""SyncLiteSubscription: a client says which lite topics it wants.

Behaviour: all brokers that can be read hear of it, and the answer waits for all of them. Each keeps
what belongs to it.
Refused: a group that is not bound to the topic, names that no lite topic has, more lite topics than
a client of the group may have, and 300 more; what a broker refuses.
Ignored: how many changes a second the real proxy takes, 5,000.

Source: proxy/grpc/v2/client/ClientActivity.java#syncLiteSubscription,
proxy/processor/ClientProcessor.java#syncLiteSubscription (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.protocol.grpc.messages import SyncLiteSubscriptionResponse
from fakemq.protocol.java import int32
from fakemq.protocol.v5.bodies.lite import (
    OFFSET,
    POLICY,
    POLICY_LAST,
    POLICY_MAX,
    POLICY_MIN,
    TAIL_N,
    TIMESTAMP,
    LiteSubscriptionDTO,
    OffsetOption,
)
from fakemq.proxy.checks import check_count, check_lite_topic, checked_group, checked_topic
from fakemq.proxy.lite import sync
from fakemq.proxy.registration import check_bound
from fakemq.proxy.registry import handles
from fakemq.proxy.settings import lite_quota
from fakemq.proxy.status import OK, Code, RpcError, java_error

if TYPE_CHECKING:
    from fakemq.later import Waits
    from fakemq.protocol.grpc import messages
    from fakemq.protocol.grpc.messages import SyncLiteSubscriptionRequest
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy

_PARTIAL_ADD: Final = "PARTIAL_ADD"
_ACTIONS: Final = (_PARTIAL_ADD, "PARTIAL_REMOVE", "COMPLETE_ADD", "COMPLETE_REMOVE")
_QUOTA_BUFFER: Final = 300
_POLICIES: Final = (POLICY_LAST, POLICY_MIN, POLICY_MAX)


@handles("SyncLiteSubscription")
def sync_lite_subscription(
    proxy: Proxy, context: Context, request: SyncLiteSubscriptionRequest
) -> Waits[SyncLiteSubscriptionResponse]:
    topic, group = checked_topic(request.topic), checked_group(request.group)
    check_count(len(request.lite_topic_set), "lite topics")
    action = _action(request.action)
    adds = action == _PARTIAL_ADD
    lites = list(dict.fromkeys(request.lite_topic_set))
    if adds:
        for lite_topic in lites:
            check_lite_topic(lite_topic)
    change = LiteSubscriptionDTO(
        action=action,
        client_id=context.client_id,
        group=group,
        topic=topic,
        lite_topic_set=lites,
        version=request.version,
    )
    if adds and request.HasField("offset_option"):
        change.offset_option = _option(request.offset_option)
    check_bound(proxy, group, topic)
    if lites:
        _check_quota(proxy, group, len(lites))
    yield from sync(proxy, context.session, change)
    return SyncLiteSubscriptionResponse(status=OK)


def _check_quota(proxy: Proxy, group: str, count: int) -> None:
    """Source: ClientProcessor.java#validateLiteSubscriptionQuota (5.5.0)"""
    config = proxy.routes.group_config(group)
    assert config is not None  # it is bound to the topic
    quota = lite_quota(config)
    if count > int32(quota + _QUOTA_BUFFER):
        raise RpcError(
            Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED, f"lite subscription quota exceeded: {quota}"
        )


def _action(number: int) -> str:
    """Source: ClientActivity.java#toLiteAction (5.5.0)"""
    if 0 <= number < len(_ACTIONS):
        return _ACTIONS[number]
    raise _illegal_argument("unknown LiteSubscriptionAction: UNRECOGNIZED", "toLiteAction", 326)


def _illegal_argument(text: str, function: str, line: int) -> RpcError:
    return java_error(
        text,
        "IllegalArgumentException",
        "org.apache.rocketmq.proxy.grpc.v2.client.ClientActivity"
        f".{function}(ClientActivity.java:{line})",
    )


def _option(said: messages.OffsetOption) -> OffsetOption:
    """Source: ClientActivity.java#toOffsetOption (5.5.0)"""
    kind = said.WhichOneof("offset_type")
    if kind == "policy":
        if not 0 <= said.policy < len(_POLICIES):
            text = "Unknown OffsetOption.Policy value: UNRECOGNIZED"
            raise _illegal_argument(text, "toOffsetPolicy", 273)
        return OffsetOption(type=POLICY, value=_POLICIES[said.policy])
    if kind == "offset":
        return OffsetOption(type=OFFSET, value=said.offset)
    if kind == "tail_n":
        return OffsetOption(type=TAIL_N, value=said.tail_n)
    if kind == "timestamp":
        return OffsetOption(type=TIMESTAMP, value=said.timestamp)
    text = "Unknown OffsetOption type: OFFSETTYPE_NOT_SET"
    raise _illegal_argument(text, "toOffsetOption", 259)
