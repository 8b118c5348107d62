"""What tools ask about lite topics.

Source: broker/processor/LiteManagerProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.broker.v5.lite.settings import expiration_min, is_parent
from fakemq.client.routes import publish_queues
from fakemq.dispatch.answers import NOTHING_SAID, OVERLOAD, Parked, Refused, Reply, Thrown
from fakemq.dispatch.outcomes import outcome_of, required
from fakemq.later import Later
from fakemq.protocol.bodies.stats import TopicOffset
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.timers import TIMER_TOPIC
from fakemq.protocol.v5.bodies.lite import (
    ClientGroup,
    GetBrokerLiteInfoResponseBody,
    GetLiteClientInfoResponseBody,
    GetLiteGroupInfoResponseBody,
    GetLiteTopicInfoResponseBody,
    GetParentTopicInfoResponseBody,
    LiteLagInfo,
)
from fakemq.protocol.v5.bodies.stats import OffsetWrapper5
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5
from fakemq.protocol.v5.lite import (
    LITE_PREFIX,
    belongs_to,
    is_lite_queue,
    lite_queue,
    parent_and_lite,
)

if TYPE_CHECKING:
    from fakemq.broker.v5.broker import Broker5
    from fakemq.clock.slices import Steps
    from fakemq.protocol.bodies.group import SubscriptionGroupConfig
    from fakemq.protocol.bodies.route import TopicRouteData
    from fakemq.protocol.bodies.topic import TopicConfig
    from fakemq.protocol.table import NoHeader
    from fakemq.protocol.v5.headers.lite import (
        GetLiteClientInfoRequestHeader,
        GetLiteGroupInfoRequestHeader,
        GetLiteTopicInfoRequestHeader,
    )

MOST_LITE_TOPICS: Final = 10_000
"""How many lite topics of a client one answer lists."""


def broker_info(broker: Broker5) -> Steps[Reply[NoHeader]]:
    """Answer with counts, the parents with their expiration, and the groups of each."""
    lite = broker.lite
    parents = {}
    for topic, config in broker.topics.snapshot().items():
        if is_parent(config):
            parents[topic] = expiration_min(config)
        yield
    own = broker.pop.log.topic, TIMER_TOPIC  # Java makes their queues when it looks at them
    body = GetBrokerLiteInfoResponseBody(
        store_type="default",
        max_lmq_num=lite.config.max_lmq_consume_queue_num,
        current_lmq_num=broker.store.queues.light_count,
        lite_subscription_count=lite.subscriptions.count,
        order_info_count=len(lite.order),
        cq_table_size=len({*broker.store.queues.topics(), *own}),
        offset_table_size=broker.offsets.count,
        event_map_size=len(lite.events),
        topic_meta=parents,
        group_meta={topic: sorted(found) for topic, found in lite.groups.bound_to().items()},
    )
    return Reply(body=body.encode())


def parent_info(broker: Broker5, topic: str) -> Steps[Reply[NoHeader]]:
    """Answer with the expiration of a parent, its groups, and how many lite topics it has."""
    config = _parent(broker, topic)
    count = 0
    for queue in broker.lite.names():
        count += belongs_to(queue, topic)
        yield
    groups = broker.lite.groups.bound_to().get(topic)
    body = GetParentTopicInfoResponseBody(
        topic=topic,
        ttl=expiration_min(config),
        groups=None if groups is None else sorted(groups),
        lmq_num=broker.store.queues.light_count,
        lite_topic_count=count,
    )
    return Reply(body=body.encode())


def lite_topic_info(broker: Broker5, header: GetLiteTopicInfoRequestHeader) -> Parked[NoHeader]:
    """Answer with the offsets and subscribers of a lite topic, and whether it belongs here.

    The last the route of its parent says, which a name server is asked for.
    """
    parent = required(header.parent_topic, "Object", "key")
    _parent(broker, parent)
    queue = required(lite_queue(parent, header.lite_topic or ""), "String", "lmqName")
    parked: Parked[NoHeader] = Later()
    route = broker.routes.find(parent)
    if route is None:
        raise Refused(ResponseCode.SYSTEM_BUSY, OVERLOAD)
    act = lambda: _lite_topic_info(broker, parent, queue, route.result())  # noqa: E731
    code = RequestCode5.GET_LITE_TOPIC_INFO
    route.when_done(lambda: parked.resolve(outcome_of(broker, code, act)))
    return parked


def _lite_topic_info(
    broker: Broker5, parent: str, queue: str, route: TopicRouteData | None
) -> Reply[NoHeader]:
    lite, store = broker.lite, broker.store
    offsets, subscribers, end = TopicOffset(), list[ClientGroup](), lite.end_of(queue)
    if end > 0:
        offsets.min_offset = max(0, store.min_offset_in_queue(queue, 0))
        offsets.max_offset = end
        offsets.last_update_timestamp = store.message_store_timestamp(queue, 0, end - 1)
    for group, found in lite.subscriptions.subscribers(parent, queue).items():
        if lite.groups.has_all(group):
            subscribers.append(ClientGroup(client_id="*", group=group))
        else:
            subscribers += (ClientGroup(client_id=one.client_id, group=group) for one in found)
    body = GetLiteTopicInfoResponseBody(
        parent_topic=parent,
        lite_topic=queue.removeprefix(f"{LITE_PREFIX}{parent}$"),
        subscriber=subscribers,
        topic_offset=offsets,
        sharding_to_broker=lite.is_home(
            queue, () if route is None else publish_queues(parent, route)
        ),
    )
    return Reply(body=body.encode())


def client_info(broker: Broker5, header: GetLiteClientInfoRequestHeader) -> Reply[NoHeader]:
    """Answer with the light queues to which a client subscribes."""
    if header.max_count <= 0:
        raise Thrown(
            "org.apache.rocketmq.remoting.exception.RemotingCommandException:"
            " [maxCount] field invalid"
        )
    parent = required(header.parent_topic, "Object", "key")
    _parent(broker, parent)
    group = required(header.group, "Object", "key")
    if broker.groups.find(group) is None:
        raise _no_group(group)
    if broker.lite.groups.bound_topic(group) != parent:
        raise Refused(
            ResponseCode5.INVALID_PARAMETER, f"Subscription [{group}]-[{parent}] not match."
        )
    lite, found = broker.lite, broker.lite.subscriptions.find(header.client_id)
    body = GetLiteClientInfoResponseBody(
        parent_topic=parent,
        group=group,
        client_id=header.client_id,
        lite_topic_count=-1,
        last_access_time=lite.events.accessed_at_ms(header.client_id),
    )
    if found is not None:
        most = min(header.max_count, MOST_LITE_TOPICS)
        body.lite_topic_count = len(found.queues)
        body.lite_topic_set = list(found.queues)[:most]
    return Reply(body=body.encode())


def group_info(broker: Broker5, header: GetLiteGroupInfoRequestHeader) -> Steps[Reply[NoHeader]]:
    """Answer with how far a group is behind: in one lite topic, or where it is furthest."""
    group = header.group
    parent = _bound(broker, group)
    body = GetLiteGroupInfoResponseBody(
        group=group, parent_topic=parent, lite_topic=header.lite_topic
    )
    if header.lite_topic:
        _behind_in(broker, body, lite_queue(parent, header.lite_topic) or "")
    else:
        yield from _behind(broker, body, parent, header.top_k)
    return Reply(body=body.encode(), remark=NOTHING_SAID)


def _behind_in(broker: Broker5, body: GetLiteGroupInfoResponseBody, queue: str) -> None:
    store, end = broker.store, broker.lite.end_of(queue)
    if end <= 0:
        body.total_lag_count = body.earliest_unconsumed_timestamp = -1
        return
    committed = broker.offsets.query(body.group or "", queue, 0)
    if committed < 0:
        return
    body.total_lag_count = end - committed
    body.earliest_unconsumed_timestamp = store.message_store_timestamp(queue, 0, committed)
    wrapper = OffsetWrapper5(broker_offset=end, consumer_offset=committed)
    if committed > 0:
        wrapper.last_timestamp = store.message_store_timestamp(queue, 0, committed - 1)
    body.lite_topic_offset_wrapper = wrapper


def _behind(
    broker: Broker5, body: GetLiteGroupInfoResponseBody, parent: str, most: int
) -> Steps[None]:
    """Source: broker/metrics/LiteConsumerLagCalculator.java (5.5.0)"""
    lite, store, group = broker.lite, broker.store, body.group or ""
    behind, total = list[LiteLagInfo](), 0
    if most < 1:  # Java makes a heap of this capacity
        raise Thrown(
            "java.lang.IllegalArgumentException,"
            " java.base/java.util.PriorityQueue.<init>(PriorityQueue.java:189)"
        )
    for queue in (yield from broker.offsets.which_topics_by_group(group)):
        yield
        found = parent_and_lite(queue)
        if not is_lite_queue(queue) or found is None:
            continue
        committed = broker.offsets.query(group, queue, 0)
        count = lite.end_of(queue) - committed
        if committed >= 0 and count > 0:
            total += count
            first_ms = store.message_store_timestamp(queue, 0, committed)
            behind.append(
                LiteLagInfo(
                    lite_topic=found[1], lag_count=count, earliest_unconsumed_timestamp=first_ms
                )
            )
    body.lag_count_top_k = sorted(behind, key=lambda one: -one.lag_count)[:most]
    body.total_lag_count = total
    oldest = []
    for queue, at_ms in lite.lags.oldest(group, parent)[:most]:
        found = parent_and_lite(queue)
        committed = broker.offsets.query(group, queue, 0)
        oldest.append(
            LiteLagInfo(
                lite_topic=None if found is None else found[1],
                lag_count=max(0, lite.end_of(queue) - committed) if committed >= 0 else 0,
                earliest_unconsumed_timestamp=at_ms,
            )
        )
    body.lag_timestamp_top_k = oldest
    first = oldest[0].earliest_unconsumed_timestamp if oldest else -1
    body.earliest_unconsumed_timestamp = first


def trigger(broker: Broker5, group: str, client_id: str | None) -> Steps[Reply[NoHeader]]:
    """Let a client, or all of a group, look into all that the group has not consumed."""
    _bound(broker, group)
    yield from broker.lite.events.all_of(group, client_id or None)
    return Reply(remark=NOTHING_SAID)


def _parent(broker: Broker5, topic: str) -> TopicConfig:
    """Return the config of a parent; raise Refused if it is none."""
    config = broker.topics.select(topic)
    if config is None:
        raise Refused(ResponseCode.TOPIC_NOT_EXIST, f"Topic [{topic}] not exist.")
    if not is_parent(config):
        raise Refused(ResponseCode5.INVALID_PARAMETER, f"Topic [{topic}] type not match.")
    return config


def _no_group(group: str) -> Refused:
    return Refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group [{group}] not exist.")


def _bound(broker: Broker5, group: str) -> str:
    """Return the parent that a group is bound to; raise Refused if there is none."""
    config: SubscriptionGroupConfig | None = broker.groups.find(group)
    if config is None:
        raise _no_group(group)
    parent = broker.lite.groups.bound_topic(group)
    if not parent:
        raise Refused(ResponseCode5.INVALID_PARAMETER, f"Group [{group}] is not a LITE group.")
    return parent
