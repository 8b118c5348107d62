"""GET_ROUTEINFO_BY_TOPIC (105): where the queues of a topic are: behind the proxy.

Behaviour: as a name server's answer, but every broker, slaves too, has the address of the door.
Refused: a topic that does not exist.

Source: proxy/remoting/activity/GetTopicRouteActivity.java,
proxy/service/route/ProxyTopicRouteData.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.namesrv.handlers.get_routeinfo_by_topic import VERSION_4_9_4
from fakemq.protocol import table
from fakemq.protocol.bodies.route import BrokerData, TopicRouteData
from fakemq.protocol.codes import ResponseCode
from fakemq.proxy.door import RemotingDoor, handles

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.protocol.headers.namesrv import GetRouteInfoRequestHeader
    from fakemq.protocol.table import NoHeader


@handles(table.GET_ROUTEINFO_BY_TOPIC)
def get_routeinfo_by_topic(
    door: RemotingDoor, request: Request[GetRouteInfoRequestHeader]
) -> Steps[Reply[NoHeader]]:
    header = request.header
    topic: str | None = header.get("topic", None)
    if topic is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, None)
    found = door.proxy.routes.route(topic)
    brokers = []
    for data in found.broker_datas:
        addrs = dict.fromkeys(data.broker_addrs, door.addr)
        brokers.append(BrokerData(data.cluster, data.broker_name, addrs, False))
        yield
    route = TopicRouteData(queue_datas=list(found.queue_datas), broker_datas=brokers)
    standard = request.command.version >= VERSION_4_9_4 or header.accept_standard_json_only is True
    return Reply(body=(yield from route.encode_in_steps(standard_json=standard)))
