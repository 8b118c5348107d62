"""LITE_SUBSCRIPTION_CTL: changes of subscriptions, one after the other.

Which lite topics count at this broker, the routes of their parents say: these are asked for before
the first change.

Source: broker/processor/LiteSubscriptionCtlProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.broker.v5.lite.subscriptions import NULL_POINTER
from fakemq.dispatch.answers import Parked, Refused, Reply
from fakemq.dispatch.outcomes import outcome_of, readable_json
from fakemq.later import Later
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.v5.bodies.lite import LiteSubscriptionCtlRequestBody, LiteSubscriptionDTO
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5
from fakemq.protocol.v5.lite import lite_queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fakemq.broker.v5.broker import Broker5
    from fakemq.dispatch.answers import Request
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.route import TopicRouteData
    from fakemq.protocol.table import NoHeader

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
    parked: Parked[NoHeader] = Later()
    entries, session = body.subscription_set, request.session
    topics = dict.fromkeys(one.topic for one in entries if one.topic and one.lite_topic_set)
    routes: dict[str, TopicRouteData | None] = {}
    left = list(topics)

    def act() -> Reply[NoHeader]:
        return _change(broker, session, entries, routes)

    def ask() -> None:
        if not left:
            code = RequestCode5.LITE_SUBSCRIPTION_CTL
            parked.resolve(outcome_of(broker, code, act))
            return
        topic = left.pop(0)
        route = broker.routes.ask(topic)

        def answered() -> None:
            routes[topic] = route.result()
            ask()

        route.when_done(answered)

    ask()
    return parked


def _change(
    broker: Broker5,
    session: Session,
    entries: Sequence[LiteSubscriptionDTO],
    routes: Mapping[str, TopicRouteData | None],
) -> Reply[NoHeader]:
    for entry in entries:
        client_id, group, topic = entry.client_id or "", entry.group or "", entry.topic or ""
        if client_id.strip() and group.strip() and topic.strip():
            _change_one(broker, session, entry, routes.get(topic))
    return Reply()


def _change_one(
    broker: Broker5, session: Session, entry: LiteSubscriptionDTO, route: TopicRouteData | None
) -> None:
    lite = broker.lite
    client_id, group, topic = entry.client_id or "", entry.group or "", entry.topic or ""
    queues = _queues(topic, entry.lite_topic_set or ())
    subscriptions, action = lite.subscriptions, entry.action
    if action in (_ADD, _REPLACE):
        if not lite.groups.may_consume(group):
            raise Refused(
                ResponseCode5.ILLEGAL_OPERATION,
                "java.lang.IllegalStateException: Consumer group is not allowed to consume.",
            )
        active = [one for one in queues if lite.is_active(one, topic, route)]
        if action == _ADD:
            most = lite.config.max_lite_subscription_count
            option = entry.offset_option
            subscriptions.add(client_id, group, topic, active, option, most, session)
        else:
            subscriptions.replace(client_id, group, topic, active, session)
    elif action == _REMOVE:
        subscriptions.remove(client_id, group, topic, queues)
    elif action == _REMOVE_ALL:
        subscriptions.remove_all(client_id)
    else:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"{NULL_POINTER}: Cannot invoke"
            ' "org.apache.rocketmq.common.lite.LiteSubscriptionAction.ordinal()" because the return'
            ' value of "org.apache.rocketmq.common.lite.LiteSubscriptionDTO.getAction()" is null',
        )


def _queues(topic: str, lites: Iterable[str]) -> list[str]:
    """Return the light queues of lite topics, in the order of Java's set; "" for an empty name."""
    return java_hash_map_order({lite_queue(topic, one) or "": None for one in lites})
