"""Lite topics behind the front: what brokers are notified of clients.

Source: proxy/service/lite/LiteSubscriptionService.java,
proxy/grpc/v2/common/GrpcClientSettingsManager.java#offlineClientLiteSubscription (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.later import drive
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.bodies.lite import LiteSubscriptionCtlRequestBody, LiteSubscriptionDTO
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.proxy.clients import LITE_PUSH_CONSUMER_TYPE
from fakemq.proxy.consuming import raise_unless_success
from fakemq.proxy.registration import check_bound
from fakemq.proxy.status import RpcError

if TYPE_CHECKING:
    from fakemq.dispatch.answers import Reply
    from fakemq.later import Waits
    from fakemq.protocol.grpc.messages import Settings
    from fakemq.proxy.broker_calls import Asked
    from fakemq.proxy.call import Connection
    from fakemq.proxy.proxy import Proxy


def sync(proxy: Proxy, connection: Connection | None, change: LiteSubscriptionDTO) -> Waits[None]:
    """Tell all brokers of a topic that can be read; raise RpcError for the first refusal."""
    route = proxy.routes.route(change.topic or "")
    body = LiteSubscriptionCtlRequestBody(subscription_set=[change]).encode()
    asked: list[tuple[str, Asked | RpcError]] = []
    for queue in route.readable_brokers():
        command = RemotingCommand(RequestCode5.LITE_SUBSCRIPTION_CTL, body=body)
        try:
            asked.append(
                (queue.broker_addr, proxy.calls.ask(connection, queue.broker_addr, command))
            )
        except RpcError as error:
            asked.append((queue.broker_addr, error))
    failed: RpcError | None = None
    for addr, pending in asked:
        try:
            if isinstance(pending, RpcError):
                raise pending
            reply: Reply[Any] = yield pending
            raise_unless_success(reply, addr)
        except RpcError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def client_gone(
    proxy: Proxy, connection: Connection | None, client_id: str, settings: Settings | None
) -> None:
    """Let brokers forget what a lite consumer has subscribed to; errors have no effect."""
    if settings is None or settings.client_type != LITE_PUSH_CONSUMER_TYPE:
        return
    subscription = settings.subscription
    if not subscription.subscriptions:
        return
    change = LiteSubscriptionDTO(
        action="COMPLETE_REMOVE",
        client_id=client_id,
        group=subscription.group.name,
        topic=subscription.subscriptions[0].topic.name,
    )
    drive(_forget(proxy, connection, change))


def _forget(
    proxy: Proxy, connection: Connection | None, change: LiteSubscriptionDTO
) -> Waits[None]:
    check_bound(proxy, change.group or "", change.topic or "")
    yield from sync(proxy, connection, change)
