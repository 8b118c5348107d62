"""POP_MESSAGE: the checks in Java's order, the choice of queues, and the answer.

Source: broker/processor/PopMessageProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

from fakemq.broker.sending.checks import consuming_group
from fakemq.broker.v5.attributes import PRIORITY_FACTOR
from fakemq.broker.v5.pop.answer import PopAnswer
from fakemq.broker.v5.pop.checks import (
    check_attempt_id,
    check_in_time,
    check_most,
    check_queues,
    check_readable,
    readable_queue,
)
from fakemq.broker.v5.pop.filters import filter_maker
from fakemq.broker.v5.pop.polling import HeldPop, NotHeld
from fakemq.broker.v5.pop.service import PopService
from fakemq.broker.v5.pop.taking import Taking
from fakemq.dispatch.answers import Parked, Refused, Reply, Request, Thrown
from fakemq.later import Later
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_long
from fakemq.protocol.headers.pop import PopMessageRequestHeader, PopMessageResponseHeader
from fakemq.protocol.message_types import MESSAGE_TYPE
from fakemq.protocol.pop import ORDER_REVIVE_QUEUE, pop_retry_topic
from fakemq.protocol.v5.codes import ResponseCode5

if TYPE_CHECKING:
    from fakemq.broker.v5.broker import Broker5
    from fakemq.broker.v5.pop.filters import FilterMaker
    from fakemq.protocol.bodies.group import SubscriptionGroupConfig
    from fakemq.protocol.bodies.topic import TopicConfig

PopRequest: TypeAlias = Request[PopMessageRequestHeader]
PopReply: TypeAlias = Reply[PopMessageResponseHeader]


def pop(
    broker: Broker5, request: PopRequest, held: HeldPop | None = None
) -> PopReply | Parked[PopMessageResponseHeader]:
    """Answer a pop; hold it if there is no message and its client wants to wait.

    ``held`` is what the request was when it was held before.
    """
    try:
        return _pop(broker, request, held)
    except Thrown:
        raise
    except Refused as refused:
        # Java's response has the fields of a pop that took nothing, whatever is wrong.
        return Reply(PopMessageResponseHeader(), code=refused.code, remark=refused.remark)


def _pop(
    broker: Broker5, request: PopRequest, held: HeldPop | None
) -> PopReply | Parked[PopMessageResponseHeader]:
    header, service = request.header, broker.pop
    group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
    if held is None:
        check_in_time(broker, header.born_time, header.poll_time)
    check_readable(broker, "pop message")
    check_most(broker, header.max_msg_nums)
    if not service.config.timer_wheel_enable:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"the broker[{broker.config.broker_ip1}] pop message is forbidden"
            " because timerWheelEnable is false",
        )
    config = readable_queue(broker, topic, queue_id, request.session)
    group_config = consuming_group(broker, group)
    check_attempt_id(header.attempt_id)
    make_filter = filter_maker(topic, header.exp, header.exp_type)
    broker.read_subscriptions.popped(group, topic, header.exp, header.exp_type)
    if header.max_msg_nums < 0:  # Java makes a list with it as its capacity
        raise Thrown(
            f"java.lang.IllegalArgumentException: Illegal Capacity: {header.max_msg_nums},"
            " java.base/java.util.ArrayList.<init>(ArrayList.java:160)"
        )
    taking = _take(broker, request, config, group_config, make_filter)
    code: ResponseCode | ResponseCode5 = ResponseCode.SUCCESS
    if not taking.buffers:
        parked = service.polling.hold(
            request,
            (topic, group, queue_id),
            header.poll_time,
            make_filter(),
            lambda again: pop(broker, request, again),
            held,
        )
        if isinstance(parked, Later):
            if taking.passed_over:  # else the next one would find nothing either, for ever
                _wake_next(service, header, taking)
            return parked
        full = parked is NotHeld.FULL
        code = ResponseCode5.POLLING_FULL if full else ResponseCode5.POLLING_TIMEOUT
    else:
        _wake_next(service, header, taking)
    answer = PopAnswer(
        taking.pop_time_ms,
        header.invisible_time,
        taking.revive_queue_id,
        taking.rest_num,
        ";".join(taking.start_offsets),
        ";".join(taking.msg_offsets),
        ";".join(taking.order_counts) if header.order else None,
    )
    remark = "FOUND" if taking.buffers else "NO_MESSAGE_IN_QUEUE"
    return Reply(cast("PopMessageResponseHeader", answer), taking.buffers, code, remark)


def _take(
    broker: Broker5,
    request: PopRequest,
    config: TopicConfig,
    group_config: SubscriptionGroupConfig,
    make_filter: FilterMaker,
) -> Taking:
    """Take messages: from the retry topic first now and then, otherwise if there is room left.

    Source: PopMessageProcessor.java#processRequest (5.5.0)
    """
    header, service, settings = request.header, broker.pop, broker.pop.config
    number = broker.randomness.randrange(100)
    revive_queue_id = ORDER_REVIVE_QUEUE if header.order else service.next_revive_queue()
    taking = Taking(service, header, request.session, make_filter, revive_queue_id)
    by_priority = (
        (config.attributes or {}).get(MESSAGE_TYPE) == "PRIORITY"
        and not header.order
        and number < _priority_factor(group_config)
    )
    if by_priority:
        retry_first = number < settings.pop_from_retry_probability_for_priority
    else:
        retry_first = number < settings.pop_from_retry_probability
    v2 = settings.enable_retry_topic_v2
    if v2 and settings.retrieve_message_from_pop_retry_topic_v1 and number % 2 == 0:
        v2 = False
    if by_priority:
        number = 0  # from the highest priority on
    retry = broker.topics.select(pop_retry_topic(header.topic, header.consumer_group, v2=v2))
    if not header.order:
        check_queues(retry)
    if header.queue_id < 0:
        check_queues(config)
    if retry_first and not header.order:
        taking.take_topic(retry, number)
    if header.queue_id < 0:
        taking.take_topic(config, number)
    else:
        taking.take_queue(header.topic, header.queue_id)
    if not retry_first and not header.order and not taking.is_full:
        taking.take_topic(retry, number)
    return taking


def _priority_factor(config: SubscriptionGroupConfig) -> int:
    """Return how often a group pops by priority, in percent.

    Source: remoting/protocol/subscription/SubscriptionGroupConfig.java#getPriorityFactor (5.5.0)
    """
    try:
        return parse_long((config.attributes or {}).get(PRIORITY_FACTOR, ""))
    except NumberFormatError:
        return 100


def _wake_next(service: PopService, header: PopMessageRequestHeader, taking: Taking) -> None:
    """Wake the next held pop if this one has left messages for it."""
    if taking.rest_num > 0:
        service.polling.notify(header.topic, header.consumer_group, header.queue_id)
