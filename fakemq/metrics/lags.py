"""How far groups are behind, as the lag metrics of a broker say it.

Only groups with members have such metrics, and groups that have read a topic within
subscriptionExpiredTimeout.
Source: broker/metrics/ConsumerLagCalculator.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fakemq.broker.filters.tags import tags_filter
from fakemq.clock.slices import A_STEP
from fakemq.protocol.pop import pop_retry_topic
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fakemq.broker.v5.broker import Broker5
    from fakemq.clock.slices import Steps

POPS = "CONSUME_POP"


class GroupLag(NamedTuple):
    """How far a group is behind in a topic, or in the topic of its retries."""

    group: str
    topic: str
    is_retry: bool
    behind: int
    """How many messages are not consumed: out, or not even read."""
    behind_ms: int
    """How long the oldest of them is stored."""
    out: int
    """How many messages were read and are not committed, or not acknowledged."""
    queueing_ms: int
    """How long the oldest message is stored that was not read."""
    ready: int
    """How many messages were not read."""


class _Queue(NamedTuple):
    behind: int
    out: int
    ready: int
    consumed_ms: int
    """When the first message was stored that is not consumed; 0 if there is none."""
    read_ms: int


class _Read(NamedTuple):
    """What a group reads of a topic; ``retry`` is the topic of what it gets again, if it pops."""

    group: str
    topic: str
    pops: bool
    retry: str | None = None


def lags(broker: Broker5) -> Steps[list[GroupLag]]:
    """Return the lags of all groups."""
    found = []
    lately = yield from broker.read_subscriptions.groups()
    for read in (yield from _reads(broker, lately)):
        found.append((yield from _lag(broker, read, read.topic, is_retry=False)))
        if read.pops:
            found.append((yield from _lag(broker, read, read.retry, is_retry=True)))
    return found


def _reads(broker: Broker5, lately: Mapping[str, Sequence[tuple[str, bool]]]) -> Steps[list[_Read]]:
    found = []
    for group in broker.groups.names():
        members = broker.consumers.group(group)
        if members is None:
            topics = [topic for topic, _ in lately.get(group, ())]
            pops = any(popped for _, popped in lately.get(group, ()))
        else:
            topics, pops = list(members.subscriptions), members.consume_type == POPS
        for topic in topics:
            if not topic.startswith(RETRY_PREFIX) and _is_open(broker, topic):
                retry = _retry_topic(broker, topic, group, pops=pops)
                found.append(_Read(group, topic, pops, retry))
        yield
    return found


def _is_open(broker: Broker5, topic: str) -> bool:
    config = broker.topics.select(topic)
    return config is not None and bool(
        config.perm & broker.config.broker_permission & PermName.READ_WRITE
    )


def _retry_topic(broker: Broker5, topic: str, group: str, *, pops: bool) -> str | None:
    if not pops:
        return None
    config, v1 = broker.config, pop_retry_topic(topic, group, v2=False)
    names = [pop_retry_topic(topic, group, v2=config.enable_retry_topic_v2)]
    if config.enable_retry_topic_v2 and config.retrieve_message_from_pop_retry_topic_v1:
        names.append(v1)
    return next((name for name in names if _is_open(broker, name)), None)


def _lag(broker: Broker5, read: _Read, topic: str | None, *, is_retry: bool) -> Steps[GroupLag]:
    queues = []
    config = None if topic is None else broker.topics.select(topic)
    if topic is not None and config is not None:
        for queue_id in broker.store.queue_ids(topic):  # others have no messages
            if queue_id < config.write_queue_nums:
                look = _popped_queue if read.pops else _pulled_queue
                queues.append((yield from look(broker, read.group, topic, queue_id)))
                yield
    return GroupLag(
        read.group,
        read.topic,
        is_retry,
        behind=sum(one.behind for one in queues),
        behind_ms=_age_ms(broker, [one.consumed_ms for one in queues]),
        out=sum(one.out for one in queues),
        queueing_ms=_age_ms(broker, [one.read_ms for one in queues]),
        ready=sum(one.ready for one in queues),
    )


def _age_ms(broker: Broker5, stored_ms: list[int]) -> int:
    oldest_ms = min(filter(None, stored_ms), default=0)
    return broker.clock.now_ms() - oldest_ms if oldest_ms else 0


def _popped_queue(broker: Broker5, group: str, topic: str, queue_id: int) -> Steps[_Queue]:
    end = broker.store.max_offset_in_queue(topic, queue_id)
    read = end
    if broker.offsets.query(group, topic, queue_id) >= 0:
        read = broker.pop.offsets.next_offset(topic, group, queue_id)
    out = max(0, broker.pop.inflight.count(topic, group, queue_id))
    ready = yield from _count(broker, group, topic, queue_id, read, end)
    return _Queue(
        behind=ready + out,
        out=out,
        ready=ready,
        consumed_ms=_stored_ms(broker, topic, queue_id, read - out),
        read_ms=_stored_ms(broker, topic, queue_id, read),
    )


def _pulled_queue(broker: Broker5, group: str, topic: str, queue_id: int) -> Steps[_Queue]:
    end = broker.store.max_offset_in_queue(topic, queue_id)
    committed = broker.offsets.query(group, topic, queue_id)
    pulled = broker.pull_offsets.find(topic, group, queue_id, committed)
    consumed = end if committed < 0 else committed
    read = max(0, pulled)
    behind = yield from _count(broker, group, topic, queue_id, consumed, end)
    begin = read if committed < 0 else committed
    out = yield from _count(broker, group, topic, queue_id, begin, read)
    ready = yield from _count(broker, group, topic, queue_id, end if pulled < 0 else pulled, end)
    return _Queue(
        behind=behind,
        out=out,
        ready=ready,
        consumed_ms=_stored_ms(broker, topic, queue_id, consumed),
        read_ms=_stored_ms(broker, topic, queue_id, read),
    )


def _stored_ms(broker: Broker5, topic: str, queue_id: int, offset: int) -> int:
    if offset < 0:
        return 0
    return max(0, broker.store.message_store_timestamp(topic, queue_id, offset))


def _count(
    broker: Broker5, group: str, topic: str, queue_id: int, begin: int, end: int
) -> Steps[int]:
    """Return how many messages a group gets of these; of many only the first are looked at.

    Source: ConsumerLagCalculator.java#calculateMessageCount,
    store/ConsumeQueue.java#estimateMessageCount (5.5.0)
    """
    total, config = max(0, end - begin), broker.config
    subscription = broker.consumers.find_subscription(group, topic)
    if not (total and config.estimate_accumulation) or subscription is None:
        return total
    if (subscription.expression_type or "TAG").upper() != "TAG":
        return total  # the entries of the queue do not say which messages match
    tags = tags_filter(subscription)
    if tags is None:
        return total
    matched = 0
    for looked, offset in enumerate(range(begin, end), 1):
        unit = broker.store.queue_unit(topic, queue_id, offset)
        matched += unit is not None and tags.is_matched_by_consume_queue(unit[2])
        if looked >= config.max_consume_queue_scan or matched > config.sample_count_threshold:
            return matched * total // looked
        if not looked % A_STEP:
            yield
    return matched
