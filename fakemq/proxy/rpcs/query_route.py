"""QueryRoute: the queues of a topic, and by which address each is reached.

Behaviour: the address is the one by which the client reaches the front, with the front's own port.
Every queue is listed once for each broker id. The real proxy remembers a route for 20 s.
Refused: a topic that no client may use, or that does not exist.

Source: proxy/grpc/v2/route/RouteActivity.java#queryRoute (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.protocol.grpc.messages import Broker, QueryRouteResponse
from fakemq.protocol.sysflag import PermName
from fakemq.proxy.addresses import endpoints_for
from fakemq.proxy.checks import check_queues, checked_topic
from fakemq.proxy.registry import handles
from fakemq.proxy.status import OK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fakemq.clock.slices import Steps
    from fakemq.later import Waits
    from fakemq.protocol.bodies.route import QueueData
    from fakemq.protocol.grpc.messages import QueryRouteRequest, Resource
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy

_NONE, _READ, _WRITE, _READ_WRITE = 1, 2, 3, 4
_UNSPECIFIED: Final = (0,)
_ACCEPTED: Final = {
    "NORMAL": (1,),
    "FIFO": (2,),
    "DELAY": (3,),
    "TRANSACTION": (4,),
    "LITE": (5,),
    "PRIORITY": (6,),
    "MIXED": (1, 2, 3, 4),
}


@handles("QueryRoute")
def query_route(
    proxy: Proxy, context: Context, request: QueryRouteRequest
) -> Waits[QueryRouteResponse]:
    topic = checked_topic(request.topic)
    endpoints = endpoints_for(proxy, request.endpoints)
    route = proxy.routes.route(topic)
    accepted = _ACCEPTED.get(proxy.routes.message_type(topic), _UNSPECIFIED)
    brokers = {
        data.broker_name: [
            Broker(name=data.broker_name or "", id=broker_id, endpoints=endpoints)
            for broker_id in sorted(data.broker_addrs)
        ]
        for data in route.broker_datas
    }
    count = sum(
        (max(0, data.read_queue_nums) + max(0, data.write_queue_nums))
        * len(brokers.get(data.broker_name, ()))
        for data in route.queue_datas
    )
    check_queues(count, request.topic, endpoints)
    steps = _queues(request.topic, route.queue_datas, brokers, accepted)
    response: QueryRouteResponse = yield context.sliced(proxy.clock, steps, count)
    return response


def _queues(
    topic: Resource,
    queue_datas: Iterable[QueueData],
    brokers: Mapping[str | None, Iterable[Broker]],
    accepted: Iterable[int],
) -> Steps[QueryRouteResponse]:
    response = QueryRouteResponse(status=OK)
    for data in queue_datas:
        of_broker = brokers.get(data.broker_name)
        if of_broker is None:
            break
        for broker in of_broker:
            for number, permission in enumerate(_permissions(data)):
                response.message_queues.add(
                    topic=topic,
                    id=number,
                    permission=permission,
                    broker=broker,
                    accept_message_types=accepted,
                )
                yield
    return response


def _permissions(data: QueueData) -> Iterator[int]:
    """Yield the permission of each queue: ids continue from one kind to the next.

    Source: RouteActivity.java#genMessageQueueFromQueueData
    """
    readable, writeable = data.perm & PermName.READ, data.perm & PermName.WRITE
    reads = data.read_queue_nums if readable else 0
    writes = data.write_queue_nums if writeable else 0
    both = min(reads, writes)
    yield from [_READ] * (reads - both)
    yield from [_WRITE] * (writes - both)
    yield from [_READ_WRITE] * both
    if not readable and not writeable:
        yield from [_NONE] * max(1, data.write_queue_nums, data.read_queue_nums)
