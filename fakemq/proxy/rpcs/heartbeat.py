"""Heartbeat: a client is still there.

Behaviour: what kind of client it is, the front knows from its settings.
Refused: a client without settings, or of another kind; a consumer without a valid group.

Source: proxy/grpc/v2/client/ClientActivity.java#heartbeat (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.clock.slices import finished
from fakemq.protocol.grpc.messages import HeartbeatResponse
from fakemq.proxy.checks import checked_group
from fakemq.proxy.clients import CONSUMER_TYPES, PRODUCER_TYPE, type_name
from fakemq.proxy.registration import register_consumer, register_producer
from fakemq.proxy.registry import handles
from fakemq.proxy.status import OK, Code, RpcError

if TYPE_CHECKING:
    from fakemq.later import Waits
    from fakemq.protocol.grpc.messages import HeartbeatRequest
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy


def unknown_client() -> RpcError:
    """Return the refusal of a client that has sent no settings, or none that are remembered."""
    return RpcError(Code.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client")


@handles("Heartbeat")
def heartbeat(
    proxy: Proxy, context: Context, request: HeartbeatRequest
) -> Waits[HeartbeatResponse]:
    settings = proxy.settings.raw(context.client_id)
    if settings is None:
        raise unknown_client()
    if settings.client_type == PRODUCER_TYPE:
        topics = settings.publishing.topics
        names = (topic.name for topic in topics)
        yield context.sliced(proxy.clock, register_producer(proxy, context, names), len(topics))
    elif settings.client_type in CONSUMER_TYPES:
        group = checked_group(request.group)
        finished(register_consumer(proxy, context, group, settings.client_type))
    else:
        raise RpcError(Code.UNRECOGNIZED_CLIENT_TYPE, type_name(settings.client_type))
    return HeartbeatResponse(status=OK)
