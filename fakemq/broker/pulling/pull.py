"""PULL_MESSAGE: the checks in Java's order, the read of the queue, and the answer.

Source: broker/processor/PullMessageProcessor.java (4.9.7)
"""

# Over 400 lines: one pull, from its request to its answer.

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from fakemq.broker.clients.consumers import BROADCASTING
from fakemq.broker.filters.noting import note_filtered
from fakemq.broker.filters.tags import tags_filter
from fakemq.broker.pulling.offset_moved import store_offset_moved_event
from fakemq.broker.pulling.positions import ReadState
from fakemq.broker.sending.checks import check_filter_type, consuming_group
from fakemq.dispatch.answers import (
    Forbidden,
    ForbiddenType,
    InvalidParameter,
    Parked,
    Refused,
    Reply,
    Request,
)
from fakemq.dispatch.outcomes import list_capacity
from fakemq.events.core import Delivered, PullMoved
from fakemq.journal.journal import shortened
from fakemq.journal.noted import DELIVERED, event_of
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.errors import NullFieldError
from fakemq.protocol.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader
from fakemq.protocol.limits import SUBSCRIPTION_MAX_CHARS
from fakemq.protocol.subscription import (
    SubscriptionError,
    build_subscription,
    is_tag_type,
)
from fakemq.protocol.sysflag import PermName, PullSysFlag
from fakemq.protocol.topics import FAQ, RETRY_PREFIX
from fakemq.store.reading import offsets_found
from fakemq.store.results import GetMessageResult, GetMessageStatus

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.broker.filters.expressions import PullFilter
    from fakemq.broker.filters.sql_expressions import Expression
    from fakemq.journal.journal import Cause
    from fakemq.journal.noted import Noted
    from fakemq.protocol.bodies.group import SubscriptionGroupConfig
    from fakemq.protocol.bodies.heartbeat import SubscriptionData
    from fakemq.protocol.command import Body

PullRequest: TypeAlias = Request[PullMessageRequestHeader]
PullReply: TypeAlias = Reply[PullMessageResponseHeader]

MASTER_ID: Final = 0


_CODES: Final = {
    GetMessageStatus.FOUND: ResponseCode.SUCCESS,
    GetMessageStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetMessageStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetMessageStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    GetMessageStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    GetMessageStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    GetMessageStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
    # For an empty queue read from offset 0; from any other offset it is PULL_OFFSET_MOVED.
    GetMessageStatus.NO_MATCHED_LOGIC_QUEUE: ResponseCode.PULL_NOT_FOUND,
    GetMessageStatus.NO_MESSAGE_IN_QUEUE: ResponseCode.PULL_NOT_FOUND,
}
_LOOKED_AT: Final = (
    GetMessageStatus.FOUND,
    GetMessageStatus.MESSAGE_WAS_REMOVING,
    GetMessageStatus.NO_MATCHED_MESSAGE,
)
"""There were entries to read: Java makes a list with the wanted number as its capacity."""
_FOUND: Final = GetMessageStatus.FOUND
_SUCCESS: Final = ResponseCode.SUCCESS
_PULL_NOT_FOUND: Final = ResponseCode.PULL_NOT_FOUND
_PULL_OFFSET_MOVED: Final = ResponseCode.PULL_OFFSET_MOVED
_STALE: Final = ReadState.STALE
# To look a member up in its enum, or an enum's member up in a dict, takes as long as three calls.

_EMPTY: Final = (GetMessageStatus.NO_MATCHED_LOGIC_QUEUE, GetMessageStatus.NO_MESSAGE_IN_QUEUE)


def pull(broker: Broker, request: PullRequest) -> PullReply | Parked[PullMessageResponseHeader]:
    """Answer a pull; hold it if there is no message and its client wants to wait."""
    return _process(broker, request, first=True)


def pull_again(broker: Broker, request: PullRequest) -> PullReply:
    """Answer a held pull; it is not held again, and commits nothing.

    Java's processor writes this answer itself, in the server's own header serialisation.
    """
    try:
        reply = _process(broker, request, first=False)
        assert isinstance(reply, Reply)
    except Refused as refused:
        reply = pull_refusal(broker, refused)
    reply.serialize_type = SerializeType.JSON
    return reply


def pull_refusal(broker: Broker, refused: Refused) -> PullReply:
    """Return the answer to a refused pull, with what forbids it if the reference says that."""
    reply: PullReply = refused.reply_in(broker.reference)
    field = broker.reference.forbidden_type_field
    if field and isinstance(refused, Forbidden):
        reply.ext_fields = {field: str(int(refused.forbidden_type))}
    return reply


def _process(
    broker: Broker, request: PullRequest, *, first: bool
) -> PullReply | Parked[PullMessageResponseHeader]:
    header = request.header
    group = header.consumer_group
    group_config = _check_group(broker, group, request.command.code)
    # Checks come in Java's order: a request with two faults has the answer to the first. Any field
    # may be absent: they are read in the same order.
    sys_flag, topic = header.sys_flag, header.topic
    _check_topic(broker, request, topic)
    queue_id = header.queue_id
    subscription, expression = _subscription(broker, header, group_config)
    message_filter = _message_filter(broker, subscription, expression)
    broker.check_puller(group, request.session)
    position = broker.positions.find(request.session, group, topic, queue_id, header.queue_offset)
    # The first pull after a reset may have an offset from before: it is sent back once.
    if position is not None and position.reading is _STALE:
        position.reading = ReadState.SENT_BACK
        if header.queue_offset != position.next_offset:
            return _back_to(broker, header, position.next_offset)
    too_many = broker.config.enable_lmq and broker.store.has_too_many_light_queues(topic)
    result = broker.store.get_message(
        group, topic, queue_id, header.queue_offset, header.max_msg_nums, message_filter
    )
    if (
        header.max_msg_nums < 0
        and result.status in _LOOKED_AT
        and broker.reference.refuses_negative_pulls
    ):
        list_capacity(header.max_msg_nums)
    # A held pull has committed already, and a slave takes the offsets over from its master.
    if first and sys_flag & PullSysFlag.COMMIT_OFFSET and not broker.role.is_slave:
        try:
            offset = header.commit_offset
        except NullFieldError:  # Java reads it last, when it has stored that the offset moved
            _reply(broker, request, group_config, _code(result, header), result)
            raise
        if position is not None:
            offset = position.committable(offset)
        broker.offsets.commit(group, topic, queue_id, offset)
    # Java's store returns nothing then, but its processor commits the offset nevertheless.
    if too_many:
        raise Refused(ResponseCode.SYSTEM_ERROR, "store getMessage return null")
    code = _code(result, header)
    # Only at the end of a queue a message may come. After the other codes the client pulls from
    # another offset.
    if code is _PULL_NOT_FOUND and first and sys_flag & PullSysFlag.SUSPEND:
        timeout_ms = header.suspend_timeout_millis
        if not broker.config.long_polling_enable:
            timeout_ms = broker.config.short_polling_time_mills
        broker.positions.replied(request.session, group, topic, queue_id, header.queue_offset)
        return broker.holds.suspend(
            request, message_filter, timeout_ms, again=lambda: pull_again(broker, request)
        )
    reply = _reply(broker, request, group_config, code, result)
    if message_filter is not None:
        note_filtered(
            broker.journal,
            broker.name,
            subscription,
            result,
            group=group,
            topic=topic,
            queue_id=queue_id,
            queue_offset=header.queue_offset,
            peer=request.session.remote_addr,
        )
    return reply


# -- checks -----------------------------------------------------------------------------------


def _check_group(broker: Broker, group: str, code: int) -> SubscriptionGroupConfig:
    if not broker.config.broker_permission & PermName.READ:
        raise Forbidden(
            ForbiddenType.BROKER_FORBIDDEN,
            f"the broker[{broker.config.broker_ip1}] pulling message is forbidden",
        )
    if code == RequestCode.LITE_PULL_MESSAGE and not broker.config.lite_pull_message_enable:
        raise Forbidden(
            ForbiddenType.BROKER_FORBIDDEN,
            f"the broker[{broker.config.broker_ip1}] for lite pull consumer is forbidden",
        )
    return consuming_group(broker, group)


def _check_topic(broker: Broker, request: PullRequest, topic: str) -> None:
    config = broker.topics.select(topic)
    if config is None:
        if _outlived_reset(broker, request):
            return  # a reset removed the topic: it is empty for clients that were reading it
        raise Refused(
            ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please! {FAQ}"
        )
    if not config.perm & PermName.READ:
        raise Forbidden(
            ForbiddenType.TOPIC_FORBIDDEN, f"the topic[{topic}] pulling message is forbidden"
        )
    queue_id = request.header.queue_id
    if not 0 <= queue_id < config.read_queue_nums:
        raise InvalidParameter(
            f"queueId[{queue_id}] is illegal, topic:[{topic}]"
            f" topicConfig.readQueueNums:[{config.read_queue_nums}]"
            f" consumer:[/{request.session.remote_addr}]"
        )


def _outlived_reset(broker: Broker, request: PullRequest) -> bool:
    header = request.header
    queue_id, offset = header.get("queue_id", -1), header.get("queue_offset", -1)
    position = broker.positions.find(
        request.session, header.consumer_group, header.topic, queue_id, offset
    )
    return position is not None and position.outlived_reset


def _subscription(
    broker: Broker, header: PullMessageRequestHeader, group_config: SubscriptionGroupConfig
) -> tuple[SubscriptionData, Expression | None]:
    """Return the subscription of a pull, from the request or from the group's heartbeats.

    The expression is None in two cases: for a subscription by tags, and if the expression in the
    request cannot be compiled. Then everything matches, as in Java, which only asserts it.
    """
    if header.sys_flag & PullSysFlag.SUBSCRIPTION:
        found = _subscription_of_request(broker, header)
    else:
        found = _subscription_of_group(broker, header, group_config)
    if not is_tag_type(found[0].expression_type):
        check_filter_type(broker, found[0])
    return found


def _subscription_of_request(
    broker: Broker, header: PullMessageRequestHeader
) -> tuple[SubscriptionData, Expression | None]:
    if header.subscription is not None and len(header.subscription) > SUBSCRIPTION_MAX_CHARS:
        most = f"fakemq reads no subscription of over {SUBSCRIPTION_MAX_CHARS} characters"
        raise Refused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, most)
    try:
        subscription = build_subscription(header.topic, header.subscription, header.expression_type)
    except SubscriptionError as error:
        raise Refused(
            ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed"
        ) from error
    if is_tag_type(subscription.expression_type):
        return subscription, None
    # Most clusters never see an expression.
    from fakemq.broker.filters.expressions import compile_expression
    from fakemq.broker.filters.sql_tokens import FilterTooLongError, MQFilterError

    try:
        return subscription, compile_expression(
            header.expression_type,
            header.subscription,
            text_conditions=broker.reference.text_conditions,
        )
    except FilterTooLongError as error:
        raise Refused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error)) from error
    except MQFilterError:
        return subscription, None


def _subscription_of_group(
    broker: Broker, header: PullMessageRequestHeader, group_config: SubscriptionGroupConfig
) -> tuple[SubscriptionData, Expression | None]:
    group = header.consumer_group
    info = broker.consumers.group(group)
    if info is None:
        raise Refused(
            ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's group info not exist{FAQ}"
        )
    # There are four ways in which a heartbeat and a pull may not fit:
    # 1. The members said that each gets every message, and the group may not.
    if not group_config.consume_broadcast_enable and info.message_model == BROADCASTING:
        raise Forbidden(
            ForbiddenType.BROADCASTING_DISABLE_FORBIDDEN,
            f"the consumer group[{group}] can not consume by broadcast way",
        )
    broker.check_pull(group, header.topic)
    # 2. The last heartbeat of a member did not name the topic.
    subscription = info.subscriptions.get(header.topic)
    if subscription is None:
        raise Refused(
            ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's subscription not exist{FAQ}"
        )
    # 3. The client has changed its subscription, and its heartbeat is still under way.
    if subscription.sub_version < header.sub_version:
        raise Refused(
            ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest"
        )
    if is_tag_type(subscription.expression_type):
        return subscription, None
    # 4. The expression could not be compiled, or is an older one.
    found = broker.filters.find(header.topic, group)
    if found is None:
        raise Refused(
            ResponseCode.FILTER_DATA_NOT_EXIST,
            "The broker's consumer filter data is not exist!Your expression may be wrong!",
        )
    if found.data.client_version < header.sub_version:
        raise Refused(
            ResponseCode.FILTER_DATA_NOT_LATEST, "the consumer's consumer filter data not latest"
        )
    return subscription, found.expression


def _message_filter(
    broker: Broker, subscription: SubscriptionData, expression: Expression | None
) -> PullFilter | None:
    """Return the filter of a pull; None if every message passes."""
    if subscription.class_filter_mode:  # a class of the user's, at a filter server, decides
        return None
    chosen: PullFilter | None = None
    if is_tag_type(subscription.expression_type):
        chosen = tags_filter(subscription)
    elif expression is not None:
        from fakemq.broker.filters.expressions import ExpressionMessageFilter  # mostly none

        chosen = ExpressionMessageFilter(expression)
    topic = str(subscription.topic)
    # A retry keeps the properties of its message: the filter for its real topic can judge it.
    if broker.config.filter_support_retry and topic.startswith(RETRY_PREFIX):
        from fakemq.broker.filters.expressions import ExpressionForRetryMessageFilter

        group = topic.removeprefix(RETRY_PREFIX)
        return ExpressionForRetryMessageFilter(
            chosen, lambda topic: broker.filters.expression(topic, group)
        )
    return chosen


# -- answers ----------------------------------------------------------------------------------


def _code(result: GetMessageResult, header: PullMessageRequestHeader) -> ResponseCode:
    if result.status is _FOUND:
        return _SUCCESS
    if result.status in _EMPTY and header.queue_offset != 0:
        return ResponseCode.PULL_OFFSET_MOVED
    return _CODES[result.status]


def _reply(
    broker: Broker,
    request: PullRequest,
    group_config: SubscriptionGroupConfig,
    code: ResponseCode,
    result: GetMessageResult,
) -> PullReply:
    header, config = request.header, broker.config
    group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
    # Where the client is to pull from next.
    broker_id = MASTER_ID
    if config.slave_read_enable:
        broker_id = (
            group_config.which_broker_when_consume_slowly
            if result.suggest_pulling_from_slave
            else group_config.broker_id
        )
    if code is _PULL_OFFSET_MOVED:
        # A slave may only be behind its master, so it does not move a client's offset.
        if broker.role.is_slave and not config.offset_check_in_slave:
            broker_id = group_config.broker_id
            code = ResponseCode.PULL_RETRY_IMMEDIATELY
        else:
            _note_moved(broker, request, result)
    next_offset = result.next_begin_offset
    broker.positions.replied(request.session, group, topic, queue_id, next_offset)
    if config.disable_consume_if_consumer_read_slowly:
        broker.slow_consumers().read(
            header.consumer_group, header.topic, header.queue_id, result.fall_behind_bytes
        )
    body: Body = b""
    leaving: tuple[Delivered, Cause] | None = None
    if code is _SUCCESS:
        body = result.buffers
        count, size_bytes = result.message_count, result.buffer_total_size
        broker.stats.pulled(group, topic, queue_id, count, size_bytes)
        delivered: Noted = (
            DELIVERED,
            broker.name,
            shortened(topic),
            queue_id,
            offsets_found(result, header.queue_offset),
            next_offset,
            shortened(group),
            request.session.remote_addr,
        )
        if broker.answer_faults:
            event = event_of(delivered)
            assert isinstance(event, Delivered)
            leaving = event, broker.journal.cause
        else:
            broker.journal.note(delivered)
    return Reply(
        ext_fields={
            "suggestWhichBrokerId": str(broker_id),
            "nextBeginOffset": str(next_offset),
            "minOffset": str(result.min_offset),
            "maxOffset": str(result.max_offset),
        },
        body=body,
        code=code,
        remark="FOUND" if result.status is _FOUND else result.status.name,
        leaving=leaving,
    )


def _note_moved(broker: Broker, request: PullRequest, result: GetMessageResult) -> None:
    header = request.header
    moved = PullMoved(
        node=broker.name,
        group=shortened(header.consumer_group),
        topic=shortened(header.topic),
        queue_id=header.queue_id,
        offset=header.queue_offset,
        next_offset=result.next_begin_offset,
        peer=request.session.remote_addr,
    )
    broker.journal.add(moved)
    if broker.reference.stores_moved_offsets:
        store_offset_moved_event(broker, header, result.next_begin_offset)


def _back_to(broker: Broker, header: PullMessageRequestHeader, offset: int) -> PullReply:
    """Send a consumer back to ``offset`` after a reset."""
    return Reply(
        PullMessageResponseHeader(
            suggest_which_broker_id=MASTER_ID,
            next_begin_offset=offset,
            min_offset=broker.store.min_offset_in_queue(header.topic, header.queue_id),
            max_offset=broker.store.max_offset_in_queue(header.topic, header.queue_id),
        ),
        code=ResponseCode.PULL_RETRY_IMMEDIATELY,
        remark=GetMessageStatus.NO_MATCHED_MESSAGE.name,
    )
