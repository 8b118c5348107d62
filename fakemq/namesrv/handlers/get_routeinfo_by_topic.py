"""GET_ROUTEINFO_BY_TOPIC (105): where a topic's queues are.

Behaviour: clients from 4.9.4 on, and those that set ``acceptStandardJsonOnly``, get standard JSON
with sorted maps, others fastjson's with bare numbers for keys. The order config of the topic is in
it if ``orderMessageEnable`` is set.
Refused: no queues, or none with a living broker: TOPIC_NOT_EXIST. At 5.5.0, a name
server that is not ready: SYSTEM_ERROR.
Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#getRouteInfoByTopic (4.9.7)
"""

from __future__ import annotations

from fakemq.clock.slices import Steps, finished
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.dispatch.long_work import Answer, in_slices
from fakemq.events.core import RouteRefused
from fakemq.namesrv.handlers import or_null
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.bodies.route import TopicRouteData
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.namesrv import GetRouteInfoRequestHeader
from fakemq.protocol.topics import FAQ

VERSION_4_9_4 = 401


@handles(table.GET_ROUTEINFO_BY_TOPIC)
def get_routeinfo_by_topic(node: NameServer, request: Request[GetRouteInfoRequestHeader]) -> Answer:
    node.check_ready()
    topic = or_null(request.header, "topic")
    if node.routes.is_wide(topic):
        return in_slices(_route_in_slices)(node, request)
    route = _found(node, request, topic, node.routes.topic_route(topic))
    finished(node.complete_route(topic, route))
    return Reply(body=route.encode(standard_json=_is_standard(request)))


def _route_in_slices(
    node: NameServer, request: Request[GetRouteInfoRequestHeader]
) -> Steps[Answer]:
    topic = or_null(request.header, "topic")
    found = yield from node.routes.topic_route_steps(topic)
    route = _found(node, request, topic, found)
    yield from node.complete_route(topic, route)
    return Reply(body=(yield from route.encode_in_steps(standard_json=_is_standard(request))))


def _found(
    node: NameServer,
    request: Request[GetRouteInfoRequestHeader],
    topic: str,
    route: TopicRouteData | None,
) -> TopicRouteData:
    if route is None:
        node.journal.add(
            RouteRefused(node=node.name, topic=topic or "", peer=request.session.remote_addr)
        )
        raise Refused(
            ResponseCode.TOPIC_NOT_EXIST,
            f"No topic route info in name server for the topic: {topic}{FAQ}",
        )
    return route


def _is_standard(request: Request[GetRouteInfoRequestHeader]) -> bool:
    return (
        request.command.version >= VERSION_4_9_4 or request.header.accept_standard_json_only is True
    )
