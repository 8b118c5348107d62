"""LITE_SUBSCRIPTION_CTL: changes of subscriptions, one after the other.

Which lite topics count at this broker, the routes of their parents say: these are asked for before
the first change.

Source: broker/processor/LiteSubscriptionCtlProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from fakemq.broker.v5.lite.subscriptions import NULL_POINTER
from fakemq.client.routes import publish_queues
from fakemq.dispatch.answers import OVERLOAD, Parked, Refused, Reply
from fakemq.dispatch.long_work import is_overloaded
from fakemq.dispatch.outcomes import readable_json
from fakemq.later import drive
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.java import java_hash_map_order_in_steps
from fakemq.protocol.v5.bodies.lite import LiteSubscriptionCtlRequestBody, LiteSubscriptionDTO
from fakemq.protocol.v5.codes import ResponseCode5
from fakemq.protocol.v5.lite import lite_queue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fakemq.broker.v5.broker import Broker5
    from fakemq.clock.slices import Steps
    from fakemq.dispatch.answers import Request
    from fakemq.later import Later, Waits
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.queue import MessageQueue
    from fakemq.protocol.bodies.route import TopicRouteData
    from fakemq.protocol.table import NoHeader

_Homes: TypeAlias = "Mapping[str, Sequence[MessageQueue]]"
"""Parent topic → its queues that producers send to."""

_ADD: Final = "PARTIAL_ADD"
_REMOVE: Final = "PARTIAL_REMOVE"
_REPLACE: Final = "COMPLETE_ADD"
_REMOVE_ALL: Final = "COMPLETE_REMOVE"


def control(broker: Broker5, request: Request[NoHeader]) -> Parked[NoHeader]:
    """Answer when all changes are made, or at the first that is refused."""
    if not request.body:
        raise Refused(ResponseCode5.ILLEGAL_OPERATION, "Request body is null.")
    body = LiteSubscriptionCtlRequestBody.decode(readable_json(request.body))
    if not body.subscription_set:
        raise Refused(ResponseCode5.ILLEGAL_OPERATION, "LiteSubscriptionCtlRequestBody is empty.")
    return drive(_answer(broker, request.session, body.subscription_set))


def _answer(
    broker: Broker5, session: Session, entries: Sequence[LiteSubscriptionDTO]
) -> Waits[Reply[NoHeader] | None]:
    if is_overloaded(broker.clock, session):
        raise Refused(ResponseCode.SYSTEM_BUSY, OVERLOAD)
    homes: dict[str, Sequence[MessageQueue]] = {}
    for topic, asked in _routes(broker, entries):
        route: TopicRouteData | None = yield asked
        homes[topic] = () if route is None else publish_queues(topic, route)
    if is_overloaded(broker.clock, session):
        raise Refused(ResponseCode.SYSTEM_BUSY, OVERLOAD)
    # In slices for the front, too: its clients are outside.
    steps = _change(broker, session, entries, homes)
    count = sum(len(one.lite_topic_set or ()) + 1 for one in entries)
    changed: Reply[NoHeader] = yield broker.clock.begin(steps, peer=session, count=count).outcome
    return changed


def _routes(
    broker: Broker5, entries: Sequence[LiteSubscriptionDTO]
) -> list[tuple[str, Later[TopicRouteData | None]]]:
    """Ask for the routes of all parents; raise Refused if too many requests wait for some."""
    asked = []
    for topic in dict.fromkeys(one.topic for one in entries if one.topic and one.lite_topic_set):
        route = broker.routes.find(topic)
        if route is None:
            raise Refused(ResponseCode.SYSTEM_BUSY, OVERLOAD)
        asked.append((topic, route))
    return asked


def _change(
    broker: Broker5, session: Session, entries: Sequence[LiteSubscriptionDTO], homes: _Homes
) -> Steps[Reply[NoHeader]]:
    for entry in entries:
        client_id, group, topic = entry.client_id or "", entry.group or "", entry.topic or ""
        if client_id.strip() and group.strip() and topic.strip():
            yield from _change_one(broker, session, entry, homes.get(topic, ()))
        yield
    return Reply()


def _change_one(
    broker: Broker5,
    session: Session,
    entry: LiteSubscriptionDTO,
    homes: Sequence[MessageQueue],
) -> Steps[None]:
    lite = broker.lite
    client_id, group, topic = entry.client_id or "", entry.group or "", entry.topic or ""
    queues = yield from _queues(topic, entry.lite_topic_set or ())
    subscriptions, action = lite.subscriptions, entry.action
    if action in (_ADD, _REPLACE):
        if not lite.groups.may_consume(group):
            raise Refused(
                ResponseCode5.ILLEGAL_OPERATION,
                "java.lang.IllegalStateException: Consumer group is not allowed to consume.",
            )
        active: list[str] = []
        for queue in queues:
            if lite.is_active(queue, homes):
                active.append(queue)
            yield
        if action == _ADD:
            most = lite.config.max_lite_subscription_count
            option = entry.offset_option
            yield from subscriptions.add(client_id, group, topic, active, option, most, session)
        else:
            yield from subscriptions.replace(client_id, group, topic, active, session)
    elif action == _REMOVE:
        yield from subscriptions.remove(client_id, group, topic, queues, session)
    elif action == _REMOVE_ALL:
        yield from subscriptions.remove_all(client_id)
    else:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"{NULL_POINTER}: Cannot invoke"
            ' "org.apache.rocketmq.common.lite.LiteSubscriptionAction.ordinal()" because the return'
            ' value of "org.apache.rocketmq.common.lite.LiteSubscriptionDTO.getAction()" is null',
        )


def _queues(topic: str, lites: Sequence[str]) -> Steps[list[str]]:
    """Return the light queues of lite topics, in the order of Java's set; "" for an empty name."""
    names = (lite_queue(topic, one) or "" for one in lites)
    return (yield from java_hash_map_order_in_steps(names))
