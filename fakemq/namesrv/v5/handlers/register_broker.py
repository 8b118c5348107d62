"""REGISTER_BROKER (103): a broker, new or known, says where it is and what it has.

Behaviour: as in 4.9.7. An id stays with the broker that knows of the latest master: one that was
master before gets an answer without addresses, and no longer counts as alive. Without a master the
slave with the lowest id says which topics there are; if slaves act as masters, these lose their
write bit. A broker expires after the silence that it says. Without returnOrderTopicConfigToBroker
the answer says nothing of topics in order.
Refused: a single topic of a broker that is not registered: SYSTEM_ERROR; its name is known then.

Source: namesrv/processor/DefaultRequestProcessor.java#registerBroker,
namesrv/routeinfo/RouteInfoManager.java#registerBroker (5.5.0)
"""

from __future__ import annotations

from collections.abc import Sized

from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.namesrv.handlers.register_broker import (
    enable_acting_master,
    read_registration,
    register,
)
from fakemq.namesrv.route_tables import BROKER_CHANNEL_EXPIRED_TIME_MS
from fakemq.namesrv.v5.namesrv import NameServer5, handles
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.header import parse_long
from fakemq.protocol.headers.namesrv import (
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
)

V5_0_0 = 413


@handles(table.REGISTER_BROKER)
def register_broker(
    node: NameServer5, request: Request[RegisterBrokerRequestHeader]
) -> Reply[RegisterBrokerResponseHeader]:
    header = request.header
    registration = read_registration(node, request, mappings_since=V5_0_0)
    says_acting = enable_acting_master(request)
    timeout = request.command.ext_fields.get("heartbeatTimeoutMillis")  # in no header of 4.9.7
    topics = registration[1]
    if isinstance(topics, Sized) and len(topics) == 1:
        addrs = node.registration.enter_name(
            cluster_name=header.cluster_name,
            broker_addr=header.broker_addr,
            broker_name=header.broker_name,
            broker_id=header.broker_id,
            enable_acting_master=says_acting,
        )
        if header.broker_id not in addrs:
            raise Refused(ResponseCode.SYSTEM_ERROR, "register broker failed")
    reply = register(
        node,
        request,
        registration,
        is_prime_allowed=says_acting is not None,
        checks_state=True,
        timeout_ms=BROKER_CHANNEL_EXPIRED_TIME_MS if timeout is None else parse_long(timeout),
    )
    if not node.config.return_order_topic_config_to_broker:
        reply.body = b""
    return reply
