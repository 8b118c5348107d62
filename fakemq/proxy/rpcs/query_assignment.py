"""QueryAssignment: what a client of a group receives from.

Behaviour: nothing is divided: every client gets everything, one entry for each broker, whose queue
id is -1, or with a FIFO group, if it is not one of lite topics, one for each queue.
Refused: topic or group that no client may use; an unknown topic; a topic that cannot be read.

Source: proxy/grpc/v2/route/RouteActivity.java#queryAssignment (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.grpc.messages import (
    Broker,
    MessageQueue,
    QueryAssignmentResponse,
)
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.v5.lite import BIND_TOPIC
from fakemq.proxy.addresses import endpoints_for
from fakemq.proxy.checks import check_queues, checked_group, checked_topic
from fakemq.proxy.registry import handles
from fakemq.proxy.status import OK, Code, RpcError

if TYPE_CHECKING:
    from collections.abc import Container

    from fakemq.clock.slices import Steps
    from fakemq.later import Waits
    from fakemq.protocol.grpc.messages import Endpoints, QueryAssignmentRequest, Resource
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy
    from fakemq.proxy.routes import TopicRoute

_READ, _READ_WRITE = 2, 4


@handles("QueryAssignment")
def query_assignment(
    proxy: Proxy, context: Context, request: QueryAssignmentRequest
) -> Waits[QueryAssignmentResponse]:
    topic, group = checked_topic(request.topic), checked_group(request.group)
    endpoints = endpoints_for(proxy, request.endpoints)
    route = proxy.routes.route(topic)
    config = proxy.routes.group_config(group)
    in_order = (
        config is not None
        and bool(config.consume_message_orderly)
        and not (config.attributes or {}).get(BIND_TOPIC)
    )
    known = {data.broker_name for data in route.broker_datas}
    counts = [max(0, data.read_queue_nums) if in_order else 1 for data in route.queue_datas]
    check_queues(sum(counts), request.topic, endpoints)
    steps = _assignments(request.topic, endpoints, route, known, in_order)
    response: QueryAssignmentResponse = yield context.sliced(proxy.clock, steps, sum(counts))
    return response


def _assignments(
    topic: Resource,
    endpoints: Endpoints,
    route: TopicRoute,
    known: Container[str | None],
    in_order: bool,
) -> Steps[QueryAssignmentResponse]:
    response = QueryAssignmentResponse(status=OK)
    for data in route.queue_datas:
        if not data.perm & PermName.READ or data.read_queue_nums <= 0:
            continue
        if data.broker_name not in known:
            continue
        broker = Broker(name=data.broker_name or "", endpoints=endpoints)
        permission = _READ_WRITE if data.perm & PermName.WRITE else _READ
        for number in range(data.read_queue_nums) if in_order else (-1,):
            queue = MessageQueue(
                topic=topic,
                id=number,
                permission=permission,  # type: ignore[arg-type]
                broker=broker,
            )
            response.assignments.add(message_queue=queue)
            yield
    if not response.assignments:
        raise RpcError(Code.FORBIDDEN, "no readable queue")
    return response
