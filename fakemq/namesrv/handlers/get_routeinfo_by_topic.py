"""GET_ROUTEINFO_BY_TOPIC (105): where a topic's queues are.

Behaviour: clients from 4.9.4 on, and those that set ``acceptStandardJsonOnly``, get standard JSON
with sorted maps, others fastjson's with bare numbers for keys. The order config of the topic is in
it if ``orderMessageEnable`` is set.
Refused: no queues, or none with a living broker: TOPIC_NOT_EXIST.
Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#getRouteInfoByTopic (4.9.7)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.events.core import RouteRefused
from fakemq.namesrv.handlers import or_null
from fakemq.namesrv.kv import NAMESPACE_ORDER_TOPIC_CONFIG
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.namesrv import GetRouteInfoRequestHeader
from fakemq.protocol.table import NoHeader
from fakemq.protocol.topics import FAQ

VERSION_4_9_4 = 401


@handles(table.GET_ROUTEINFO_BY_TOPIC)
def get_routeinfo_by_topic(
    node: NameServer, request: Request[GetRouteInfoRequestHeader]
) -> Reply[NoHeader]:
    return route_of_topic(node, request)


def route_of_topic(
    node: NameServer, request: Request[GetRouteInfoRequestHeader]
) -> Reply[NoHeader]:
    """Answer with the route; raise Refused if there is none."""
    topic = or_null(request.header, "topic")
    route = node.routes.topic_route(topic)
    if route is None:
        node.journal.add(
            RouteRefused(node=node.name, topic=topic or "", peer=request.session.remote_addr)
        )
        raise Refused(
            ResponseCode.TOPIC_NOT_EXIST,
            f"No topic route info in name server for the topic: {topic}{FAQ}",
        )
    if node.config.order_message_enable:
        route.order_topic_conf = node.kv.get(NAMESPACE_ORDER_TOPIC_CONFIG, topic)
    standard = (
        request.command.version >= VERSION_4_9_4 or request.header.accept_standard_json_only is True
    )
    return Reply(body=route.encode(standard_json=standard))
