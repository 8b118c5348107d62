"""NotifyClientTermination: a client says that it ends.

Behaviour: its settings and memberships are forgotten; messages whose time the front prolonged for
it become visible after a second. Its telemetry stream is left open. Brokers forget to which lite
topics it subscribed.
Refused: an unknown client; a language that Java does not know.

Source: proxy/grpc/v2/client/ClientActivity.java#notifyClientTermination (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.grpc.messages import NotifyClientTerminationResponse
from fakemq.proxy.checks import checked_group
from fakemq.proxy.clients import (
    CONSUMER_TYPES,
    LITE_PUSH_CONSUMER_TYPE,
    PRODUCER_TYPE,
    type_name,
)
from fakemq.proxy.registration import checked_language
from fakemq.proxy.registry import handles
from fakemq.proxy.rpcs.heartbeat import unknown_client
from fakemq.proxy.status import OK, Code, RpcError

if TYPE_CHECKING:
    from fakemq.protocol.grpc.messages import NotifyClientTerminationRequest
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy


@handles("NotifyClientTermination")
def notify_client_termination(
    proxy: Proxy, context: Context, request: NotifyClientTerminationRequest
) -> NotifyClientTerminationResponse:
    checked_language(context)
    settings = proxy.settings.remove(context.client_id)
    if settings is None:
        raise unknown_client()
    if settings.client_type in CONSUMER_TYPES:
        checked_group(request.group)
    elif settings.client_type != PRODUCER_TYPE:
        raise RpcError(Code.UNRECOGNIZED_CLIENT_TYPE, type_name(settings.client_type))
    known = proxy.clients.find(context.client_id) is not None
    proxy.clients.remove(context.client_id)
    if known and settings.client_type == LITE_PUSH_CONSUMER_TYPE:
        from fakemq.proxy.lite import client_gone  # few clients use lite topics

        client_gone(proxy, context.session, context.client_id, settings)
    return NotifyClientTerminationResponse(status=OK)
