"""REGISTER_TOPIC_IN_NAMESRV (217): give a topic queues at brokers that are registered.

Behaviour: the body is a route, of which only the queues count. Those of brokers that are not
registered are left out with all that come behind them; a new topic then has none at all. SUCCESS in
any case.

Source: namesrv/processor/DefaultRequestProcessor.java#registerTopicToNamesrv,
namesrv/routeinfo/RouteInfoManager.java#registerTopic (5.5.0)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import readable_json
from fakemq.namesrv.v5.namesrv import NameServer5, handles
from fakemq.protocol.bodies.route import TopicRouteData
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.namesrv import RegisterTopicRequestHeader


@handles(table.REGISTER_TOPIC_IN_NAMESRV)
def register_topic_in_namesrv(
    node: NameServer5, request: Request[RegisterTopicRequestHeader]
) -> Reply[NoHeader]:
    body = readable_json(request.body)
    route = TopicRouteData.decode_or_null(body) if body else None
    if route is not None and route.queue_datas:
        node.registration.register_topic(request.header.topic, route.queue_datas)
    return Reply()
