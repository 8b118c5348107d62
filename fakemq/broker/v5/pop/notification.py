"""NOTIFICATION: tell a client whether there is something to pop; hold the request if not.

Source: broker/processor/NotificationProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from fakemq.broker.sending.checks import consuming_group
from fakemq.broker.v5.pop.checks import (
    check_queues,
    check_readable,
    readable_queue,
)
from fakemq.broker.v5.pop.filters import filter_maker
from fakemq.broker.v5.pop.polling import HeldPop, NotHeld
from fakemq.dispatch.answers import NOTHING_SAID, Parked, Refused, Reply, Request
from fakemq.later import Later
from fakemq.protocol.headers.pop import NotificationRequestHeader, NotificationResponseHeader
from fakemq.protocol.pop import pop_retry_topic

if TYPE_CHECKING:
    from fakemq.broker.filters.expressions import PullFilter
    from fakemq.broker.v5.broker import Broker5

_Request: TypeAlias = Request[NotificationRequestHeader]
_Reply: TypeAlias = Reply[NotificationResponseHeader]
_MOST_FILTERED = 32
"""How many entries of a queue are compared with a filter."""


def notification(
    broker: Broker5, request: _Request, held: HeldPop | None = None
) -> _Reply | Parked[NotificationResponseHeader]:
    """Answer whether there is something to pop; wait for it if there is nothing.

    ``held`` is what the request was when it was held before.
    """
    try:
        return _notification(broker, request, held)
    except Refused as refused:
        return _Reply(NotificationResponseHeader(), code=refused.code, remark=refused.remark)


def _notification(
    broker: Broker5, request: _Request, held: HeldPop | None
) -> _Reply | Parked[NotificationResponseHeader]:
    header, service = request.header, broker.pop
    group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
    check_readable(broker, "peeking message")
    config = readable_queue(broker, topic, queue_id, request.session)
    consuming_group(broker, group)
    expression = header.exp if header.exp_type else None
    if not service.config.use_message_filter_for_notification:
        expression = None
    message_filter = filter_maker(topic, expression, header.exp_type)()
    if queue_id < 0:
        check_queues(config)
    queues = range(config.read_queue_nums) if queue_id < 0 else (queue_id,)
    has_message = any(_has_message(broker, header, topic, one, message_filter) for one in queues)
    has_message = has_message or _has_retry(broker, header)
    full = False
    if not has_message:
        parked = service.notifications.hold(
            request,
            (topic, group, queue_id),
            header.poll_time,
            message_filter,
            lambda again: notification(broker, request, again),
            held,
        )
        if isinstance(parked, Later):
            return parked
        full = parked is NotHeld.FULL
    header_of_answer = NotificationResponseHeader(has_msg=has_message, polling_full=full)
    return _Reply(header_of_answer, remark=NOTHING_SAID)


def _has_retry(broker: Broker5, header: NotificationRequestHeader) -> bool:
    settings = broker.pop.config
    kinds = [settings.enable_retry_topic_v2]
    if settings.enable_retry_topic_v2 and settings.retrieve_message_from_pop_retry_topic_v1:
        kinds.append(False)
    for v2 in kinds:
        config = broker.topics.select(pop_retry_topic(header.topic, header.consumer_group, v2=v2))
        check_queues(config)
        if config is not None and any(
            _has_message(broker, header, config.topic_name or "", queue_id, None)
            for queue_id in range(config.read_queue_nums)
        ):
            return True
    return False


def _has_message(
    broker: Broker5,
    header: NotificationRequestHeader,
    topic: str,
    queue_id: int,
    message_filter: PullFilter | None,
) -> bool:
    """Source: NotificationProcessor.java#hasMsgFromQueue (5.5.0)"""
    service, group = broker.pop, header.consumer_group
    if header.order and service.order.is_blocked(
        header.attempt_id, header.topic, group, queue_id, 0, service.clock.now_ms()
    ):
        return False
    offset = service.offsets.next_offset(topic, group, queue_id)
    rest = broker.store.max_offset_in_queue(topic, queue_id) - offset
    if (
        message_filter is None
        or message_filter.tags_codes is None
        or rest >= service.config.max_message_filter_num_for_notification
    ):
        return rest > 0
    units = (
        broker.store.queue_unit(topic, queue_id, offset + number)
        for number in range(min(rest, _MOST_FILTERED))
    )
    return any(
        unit is not None and message_filter.is_matched_by_consume_queue(unit[2]) for unit in units
    )
