"""CHANGE_MESSAGE_INVISIBLETIME: a message that was popped becomes visible at another time.

Source: broker/processor/ChangeInvisibleTimeProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from fakemq.broker.v5.pop.checks import existing_queue
from fakemq.broker.v5.pop.noting import note_changed
from fakemq.dispatch.answers import NOTHING_SAID, Parked, Refused, Reply
from fakemq.later import Later
from fakemq.protocol.bodies.pop import AckMsg, PopCheckPoint
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.pop import (
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
)
from fakemq.protocol.java import int64
from fakemq.protocol.pop import ExtraInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.broker.v5.broker import Broker5
    from fakemq.dispatch.answers import Request

_Reply: TypeAlias = Reply[ChangeInvisibleTimeResponseHeader]
Change: TypeAlias = "Callable[[Broker5, Request[ChangeInvisibleTimeRequestHeader]], _Reply]"


def change_invisible_time(
    broker: Broker5,
    request: Request[ChangeInvisibleTimeRequestHeader],
    change_lite: Change | None = None,
) -> _Reply | Parked[ChangeInvisibleTimeResponseHeader]:
    """Let a message be visible ``invisible_time`` from now; return its new times.

    ``change_lite`` does that for a message of a lite topic.
    """
    try:
        if change_lite is not None:
            header = request.header
            existing_queue(broker, header.topic, header.queue_id, request.session)
            return change_lite(broker, request)
        return _change(broker, request)
    except Refused as refused:
        return _refused(refused.code, refused.remark)


def _refused(code: int, remark: str | None) -> _Reply:
    """Return an answer as Java's, which has the fields whatever is wrong."""
    return _Reply(ChangeInvisibleTimeResponseHeader(), code=code, remark=remark)


def _change(
    broker: Broker5, request: Request[ChangeInvisibleTimeRequestHeader]
) -> _Reply | Parked[ChangeInvisibleTimeResponseHeader]:
    header = request.header
    topic, queue_id = header.topic, header.queue_id
    existing_queue(broker, topic, queue_id, request.session)
    least = broker.store.min_offset_in_queue(topic, queue_id)
    if not least <= header.offset < broker.store.max_offset_in_queue(topic, queue_id):
        raise Refused(ResponseCode.NO_MESSAGE, NOTHING_SAID)
    handle = ExtraInfo(header.extra_info)
    if handle.is_order:
        return _in_order(broker, request, handle)
    service, group = broker.pop, header.consumer_group
    revive_queue_id, popped_ms = handle.revive_queue_id, handle.pop_time_ms
    # A checkpoint of the same moment would have the same key. In Java no such moment is that long.
    now_ms = service.clock.now_ms()
    if popped_ms >= now_ms:
        now_ms = int64(popped_ms + 1)
    ck = PopCheckPoint(
        num=1,
        pop_time=now_ms,
        invisible_time=header.invisible_time,
        start_offset=header.offset,
        group=group,
        topic=topic,
        queue_id=queue_id,
        queue_offset_diff=[0],
        broker_name=handle.broker_name,
        suspend=header.suspend and broker.reference.suspends_pops,
    )
    origin = AckMsg(
        ack_offset=header.offset,
        start_offset=handle.start_offset,
        group=group,
        topic=topic,
        queue_id=queue_id,
        pop_time=popped_ms,
        broker_name=handle.broker_name,
    )
    visible_at_ms = origin.pop_time + handle.invisible_time_ms

    def answer(*, stored: bool) -> _Reply:
        if not stored:
            return _refused(ResponseCode.SYSTEM_ERROR, NOTHING_SAID)
        ended = service.log.put_ack(origin, revive_queue_id, visible_at_ms)
        _note(broker, request, popped_ms, now_ms, ck.revive_time, has_effect=bool(ended))
        return _Reply(
            ChangeInvisibleTimeResponseHeader(
                pop_time=now_ms, invisible_time=header.invisible_time, revive_qid=revive_queue_id
            ),
            remark=NOTHING_SAID,
        )

    stored = service.log.put_checkpoint(ck, revive_queue_id)
    if not isinstance(stored, Later):
        return answer(stored=stored)
    parked: Parked[ChangeInvisibleTimeResponseHeader] = Later()
    stored.when_done(lambda: parked.resolve(answer(stored=stored.result())))
    return parked


def _in_order(
    broker: Broker5, request: Request[ChangeInvisibleTimeRequestHeader], handle: ExtraInfo
) -> Reply[ChangeInvisibleTimeResponseHeader]:
    """Source: ChangeInvisibleTimeProcessor.java#processChangeInvisibleTimeForOrder (5.5.0)"""
    header, service = request.header, broker.pop
    group, topic, queue_id = header.consumer_group or "", header.topic, header.queue_id
    pop_time_ms = handle.pop_time_ms
    visible_at_ms = int64(service.clock.now_ms() + header.invisible_time)
    if header.offset < broker.offsets.query(group, topic, queue_id):
        _note(broker, request, pop_time_ms, pop_time_ms, visible_at_ms, has_effect=False)
        return _Reply(ChangeInvisibleTimeResponseHeader(), remark=NOTHING_SAID)
    is_out = service.order.find(topic, group, queue_id) is not None and service.order.is_out(
        topic, group, queue_id, header.offset, pop_time_ms
    )
    service.order.update_next_visible_time(
        topic,
        group,
        queue_id,
        header.offset,
        pop_time_ms=pop_time_ms,
        visible_at_ms=visible_at_ms,
    )
    service.order_changed(topic, group, queue_id)
    _note(broker, request, pop_time_ms, pop_time_ms, visible_at_ms, has_effect=is_out)
    return _Reply(
        ChangeInvisibleTimeResponseHeader(
            pop_time=pop_time_ms,
            invisible_time=int64(visible_at_ms - pop_time_ms),
            revive_qid=handle.revive_queue_id,
        ),
        remark=NOTHING_SAID,
    )


def _note(
    broker: Broker5,
    request: Request[ChangeInvisibleTimeRequestHeader],
    pop_time_ms: int,
    next_pop_time_ms: int,
    visible_at_ms: int,
    *,
    has_effect: bool,
) -> None:
    header = request.header
    note_changed(
        broker,
        header.consumer_group or "",
        header.topic,
        header.offset,
        pop_time_ms,
        next_pop_time_ms,
        visible_at_ms,
        request.session.remote_addr,
        queue_id=header.queue_id,
        has_effect=has_effect,
    )
