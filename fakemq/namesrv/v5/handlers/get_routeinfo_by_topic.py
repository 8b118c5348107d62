"""GET_ROUTEINFO_BY_TOPIC (105): where a topic's queues are.

Behaviour: as in 4.9.7.
Refused: with needWaitForService, up to waitSecondsForService after the start: SYSTEM_ERROR.

Source: namesrv/processor/ClientRequestProcessor.java#getRouteInfoByTopic (5.5.0)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Request
from fakemq.dispatch.long_work import Answer
from fakemq.namesrv.handlers.get_routeinfo_by_topic import route_of_topic
from fakemq.namesrv.namesrv import NameServer
from fakemq.namesrv.v5.handlers import handles
from fakemq.namesrv.v5.switches import check_ready
from fakemq.protocol import table
from fakemq.protocol.headers.namesrv import GetRouteInfoRequestHeader


@handles(table.GET_ROUTEINFO_BY_TOPIC)
def get_routeinfo_by_topic(node: NameServer, request: Request[GetRouteInfoRequestHeader]) -> Answer:
    check_ready(node)
    return route_of_topic(node, request)
