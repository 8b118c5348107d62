"""Which queues a client consumes, and whether it pulls or pops them: the broker decides.

Source: broker/processor/QueryAssignmentProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.broker.clients.consumers import BROADCASTING
from fakemq.broker.v5.pop.checks import check_queue_count
from fakemq.broker.v5.pop.modes import POP
from fakemq.client.consuming.allocation import averagely, averagely_by_circle
from fakemq.client.routes import subscribe_queues
from fakemq.dispatch.answers import Parked, Reply
from fakemq.dispatch.outcomes import outcome_of, required
from fakemq.later import Later
from fakemq.protocol.bodies.pop import (
    MessageQueueAssignment,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
)
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.v5.codes import RequestCode5

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakemq.broker.v5.broker import Broker5
    from fakemq.client.consuming.allocation import Strategy
    from fakemq.protocol.bodies.route import TopicRouteData
    from fakemq.protocol.table import NoHeader

_STRATEGIES: Final = {one.name: one for one in (averagely, averagely_by_circle)}

ALL_QUEUES: Final = -1


def query_assignment(broker: Broker5, body: QueryAssignmentRequestBody) -> Parked[NoHeader]:
    """Answer with the queues of a client, once a name server says where the topic is.

    Java knows the route of a topic that was asked for before, which is up to 30 s old; here a name
    server is asked each time, and the known route counts only if none answers.
    """
    parked: Parked[NoHeader] = Later()
    topic = required(body.topic, "QueryAssignmentRequestBody", "topic")
    required(body.message_model, "QueryAssignmentRequestBody", "messageModel")

    route = broker.routes.ask(topic)
    act = lambda: _answer(broker, body, topic, route.result())  # noqa: E731
    route.when_done(lambda: parked.resolve(outcome_of(broker, RequestCode5.QUERY_ASSIGNMENT, act)))
    return parked


def _answer(
    broker: Broker5, body: QueryAssignmentRequestBody, topic: str, route: TopicRouteData | None
) -> Reply[NoHeader]:
    service, group = broker.pop, body.consumer_group or ""
    mode = service.modes.find(topic, group, service.config)
    queues = None if route is None else _readable_queues(topic, route)
    if queues is not None and body.message_model != BROADCASTING:
        queues = _share(broker, body, queues, mode.mode == POP, mode.pop_share_queue_num)
    assignments = None
    if queues is not None:
        assignments = [
            MessageQueueAssignment(message_queue=queue, mode=mode.mode)
            for queue in dict.fromkeys(queues)
        ]
    return Reply(body=QueryAssignmentResponseBody(message_queue_assignments=assignments).encode())


def _readable_queues(topic: str, route: TopicRouteData) -> Sequence[MessageQueue]:
    """Return the queues of a route; raise Refused for more than one request looks into."""
    readable = (one.read_queue_nums for one in route.queue_datas if one.perm & PermName.READ)
    check_queue_count(topic, sum(readable))
    return subscribe_queues(topic, route)


def _share(
    broker: Broker5,
    body: QueryAssignmentRequestBody,
    queues: Sequence[MessageQueue],
    by_pop: bool,
    share_queue_num: int,
) -> Sequence[MessageQueue] | None:
    """Return the queues of one member of a group; None if the client is to keep what it has.

    Source: QueryAssignmentProcessor.java#doLoadBalance (5.5.0)
    """
    group, client_id = body.consumer_group or "", body.client_id or ""
    if not broker.pop.config.server_load_balancer_enable:
        return queues
    client_ids = sorted({member.client_id for member in broker.consumers.members(group)})
    strategy = _STRATEGIES.get(body.strategy_name or "")
    if not client_ids or strategy is None:
        return None
    ordered = sorted(queues)
    try:
        if by_pop:
            return _share_for_pop(strategy, group, client_id, ordered, client_ids, share_queue_num)
        return strategy(group, client_id, ordered, client_ids)
    except ValueError:
        return None


def _share_for_pop(
    strategy: Strategy,
    group: str,
    client_id: str,
    queues: Sequence[MessageQueue],
    client_ids: Sequence[str],
    share_queue_num: int,
) -> Sequence[MessageQueue]:
    """Return what a client pops: all queues of each broker, or its share and those of the next.

    Source: QueryAssignmentProcessor.java#allocate4Pop (5.5.0)
    """
    if share_queue_num <= 0 or share_queue_num >= len(client_ids) - 1:
        return [
            MessageQueue(topic=one.topic, broker_name=one.broker_name, queue_id=ALL_QUEUES)
            for one in queues
        ]
    if len(client_ids) > len(queues):
        # There are more clients than queues: each gets one, and some share it.
        if not client_id:
            raise ValueError("currentCID is empty")
        if not queues:
            raise ValueError("mqAll is null or mqAll empty")
        if client_id not in client_ids:
            return ()
        return (queues[client_ids.index(client_id) % len(queues)],)
    found = list(strategy(group, client_id, queues, client_ids) or ())
    if client_id in client_ids:
        at = client_ids.index(client_id)
        for number in range(1, share_queue_num + 1):
            following = client_ids[(at + number) % len(client_ids)]
            found += strategy(group, following, queues, client_ids) or ()
    return found
