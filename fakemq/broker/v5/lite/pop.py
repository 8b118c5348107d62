"""POP_LITE_MESSAGE: what a client has subscribed to, in the order in which it had news.

Messages of a lite topic are consumed in order: what follows waits until all of a pop is
acknowledged, or visible again.

Source: broker/processor/PopLiteMessageProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from fakemq.broker.v5.lite.settings import is_parent
from fakemq.broker.v5.pop.checks import check_attempt_id, check_in_time, check_most, check_readable
from fakemq.broker.v5.pop.polling import ALL_QUEUES, NotHeld
from fakemq.dispatch.answers import Parked, Refused, Reply, Request, Thrown
from fakemq.journal.journal import shortened
from fakemq.journal.noted import DELIVERED, POPPED
from fakemq.later import Later
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.pop import ORDER_REVIVE_QUEUE
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.v5.codes import ResponseCode5
from fakemq.protocol.v5.headers.lite import PopLiteMessageResponseHeader
from fakemq.store.reading import offsets_found
from fakemq.store.results import GetMessageStatus

if TYPE_CHECKING:
    from fakemq.broker.v5.broker import Broker5
    from fakemq.broker.v5.pop.polling import HeldPop
    from fakemq.protocol.v5.headers.lite import PopLiteMessageRequestHeader
    from fakemq.store.results import GetMessageResult

_Request: TypeAlias = "Request[PopLiteMessageRequestHeader]"
_Reply: TypeAlias = "Reply[PopLiteMessageResponseHeader]"

_FROM_MAX: Final = 1
MOST_LOOKED: Final = 1_000
"""Into how many lite topics one pop looks: of the news of a client, 100 by default, all."""
_CORRECTED: Final = (
    GetMessageStatus.OFFSET_TOO_SMALL,
    GetMessageStatus.OFFSET_OVERFLOW_BADLY,
    GetMessageStatus.OFFSET_FOUND_NULL,
    GetMessageStatus.NO_MATCHED_MESSAGE,
    GetMessageStatus.MESSAGE_WAS_REMOVING,
    GetMessageStatus.NO_MATCHED_LOGIC_QUEUE,
)
"""There is nothing at the offset of the group: it continues where the store has messages."""
_NO_TOPIC: Final = (
    "topic [{}] not exist, apply first please!"
    " \nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
)
_NO_GROUP: Final = (
    "subscription group [{}] not exist,"
    " \nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
)


def pop_lite(
    broker: Broker5, request: _Request, held: HeldPop | None = None
) -> _Reply | Parked[PopLiteMessageResponseHeader]:
    """Answer a pop; hold it if there is no message and its client wants to wait.

    ``held`` is what the request was when it was held before.
    """
    try:
        return _pop(broker, request, held)
    except Thrown:
        raise
    except Refused as refused:
        # Java's response has the fields of a pop that took nothing, whatever is wrong.
        return Reply(PopLiteMessageResponseHeader(), code=refused.code, remark=refused.remark)


def _pop(
    broker: Broker5, request: _Request, held: HeldPop | None
) -> _Reply | Parked[PopLiteMessageResponseHeader]:
    header, lite = request.header, broker.lite
    _check(broker, header, held)
    taking = _Taking(broker, request)
    queues = lite.events.take(header.client_id, MOST_LOOKED)
    while taking.count < header.max_msg_num and (queue := next(queues, None)) is not None:
        taking.take(queue)
    code: ResponseCode | ResponseCode5 = ResponseCode.SUCCESS
    if not taking.count:
        parked = lite.polling.hold(
            request,
            (header.client_id, "", ALL_QUEUES),
            header.poll_time,
            None,
            lambda again: pop_lite(broker, request, again),
            held,
        )
        if isinstance(parked, Later):
            lite.events.look_again(header.client_id)
            return parked
        full = parked is NotHeld.FULL
        code = ResponseCode5.POLLING_FULL if full else ResponseCode5.POLLING_TIMEOUT
    answer = PopLiteMessageResponseHeader(
        pop_time=taking.pop_time_ms,
        invisible_time=header.invisible_time,
        revive_qid=ORDER_REVIVE_QUEUE,
        order_count_info=";".join(taking.order_counts),
    )
    remark = "FOUND" if taking.count else "NO_MESSAGE_IN_QUEUE"
    return Reply(answer, taking.buffers, code, remark)


def _check(broker: Broker5, header: PopLiteMessageRequestHeader, held: HeldPop | None) -> None:
    """Raise Refused for what no client may pop, in Java's order.

    Source: PopLiteMessageProcessor.java#preCheck (5.5.0)
    """
    topic, group = header.topic, header.consumer_group
    if held is None:
        check_in_time(broker, header.born_time, header.poll_time)
    check_readable(broker, "pop message")
    check_most(broker, header.max_msg_num)
    config = broker.topics.select(topic)
    if config is None:
        raise Refused(ResponseCode.TOPIC_NOT_EXIST, _NO_TOPIC.format(topic))
    if not config.perm & PermName.READ:
        raise Refused(
            ResponseCode.NO_PERMISSION, f"the topic [{topic}] peeking message is forbidden"
        )
    if not is_parent(config):
        raise Refused(
            ResponseCode5.INVALID_PARAMETER, f"the topic [{topic}] message type not match"
        )
    group_config = broker.groups.find(group)
    if group_config is None:
        raise Refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, _NO_GROUP.format(group))
    if not group_config.consume_enable:
        raise Refused(ResponseCode.NO_PERMISSION, f"subscription group no permission, {group}")
    if broker.lite.groups.bound_topic(group) != topic:
        raise Refused(
            ResponseCode5.INVALID_PARAMETER, f"subscription bind topic not match, {group}"
        )
    check_attempt_id(header.attempt_id)


class _Taking:
    """One pop while it collects messages."""

    def __init__(self, broker: Broker5, request: _Request) -> None:
        self._broker = broker
        self._header = request.header
        self._session = request.session
        self._taken: set[str] = set()
        self.pop_time_ms = broker.clock.now_ms()
        self.count = 0
        self.buffers: list[memoryview] = []
        self.order_counts: list[str] = []

    def take(self, queue: str) -> None:
        """Take what is still wanted from a light queue, unless it is blocked.

        Source: PopLiteMessageProcessor.java#popLiteTopic (5.5.0)
        """
        broker, header, lite = self._broker, self._header, self._broker.lite
        group = header.consumer_group
        if queue in self._taken:
            return
        self._taken.add(queue)
        if not lite.config.enable_lite_event_mode and not lite.end_of(queue):
            return
        now_ms = broker.clock.now_ms()
        if lite.order.is_blocked(header.attempt_id, queue, group, 0, header.invisible_time, now_ms):
            lite.locks.found_blocked(queue, group, 0)
            return
        start = broker.pop.start_of_pop(queue, group, 0, _FROM_MAX, lite.order)
        result, start = self._read(queue, start)
        if result.message_count:
            self._took(queue, start, result)

    def _read(self, queue: str, start: int) -> tuple[GetMessageResult, int]:
        store, group = self._broker.store, self._header.consumer_group
        most = self._header.max_msg_num - self.count
        result = store.get_message(group, queue, 0, start, most)
        if result.status in _CORRECTED:
            start = result.next_begin_offset
            self._broker.offsets.commit(group, queue, 0, start)
            result = store.get_message(group, queue, 0, start, most)
        return result, start

    def _took(self, queue: str, start: int, result: GetMessageResult) -> None:
        broker, header, lite = self._broker, self._header, self._broker.lite
        group, offsets = header.consumer_group, tuple(offsets_found(result, start))
        entries = lite.order.update(
            header.attempt_id,
            queue,
            group,
            0,
            pop_time_ms=self.pop_time_ms,
            invisible_time_ms=header.invisible_time,
            offsets=offsets,
            now_ms=broker.clock.now_ms(),
        )
        lite.locks.watch(queue, group, 0)
        self.order_counts += _counts(entries, len(offsets))
        self.count += len(offsets)
        self.buffers += result.buffers
        broker.stats.pulled(group, header.topic, 0, len(offsets), result.buffer_total_size)
        left_ms = None
        if self.count >= header.max_msg_num:
            left_ms = broker.store.message_store_timestamp(queue, 0, result.next_begin_offset)
        lite.lags.popped(group, header.topic, queue, left_ms)
        self._note(queue, start, result, offsets)

    def _note(
        self, queue: str, start: int, result: GetMessageResult, offsets: tuple[int, ...]
    ) -> None:
        journal, header, node = self._broker.journal, self._header, self._broker.name
        group, peer, topic = (
            shortened(header.consumer_group),
            self._session.remote_addr,
            shortened(queue),
        )
        journal.note((DELIVERED, node, topic, 0, offsets, result.next_begin_offset, group, peer))
        attempt_id = header.attempt_id
        journal.note(
            (
                POPPED,
                node,
                group,
                topic,
                0,
                start,
                result.message_count,
                self.pop_time_ms,
                self.pop_time_ms + header.invisible_time,
                True,
                peer,
                None if attempt_id is None else shortened(attempt_id),
            )
        )


def _counts(entries: list[str], count: int) -> list[str]:
    """Return the entries of orderCountInfo: one for each message, as far as Java has one.

    The last one of ``entries`` counts for each message without one; Java leaves it out if
    there are others.
    Source: PopLiteMessageProcessor.java#transformOrderCountInfo (5.5.0)
    """
    if len(entries) > 1:
        return entries[:-1]
    return [entries[0].rpartition(" ")[2]] * count
