"""Acknowledgements and changes of the invisible time of messages of lite topics.

Source: broker/processor/AckMessageProcessor.java#ackLite,
ChangeInvisibleTimeProcessor.java#processChangeInvisibleTimeForLite (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.v5.pop.checks import existing_queue
from fakemq.broker.v5.pop.noting import note_acknowledged, note_changed
from fakemq.broker.v5.pop.order import ILLEGAL
from fakemq.dispatch.answers import NOTHING_SAID, Refused, Reply
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.pop import ChangeInvisibleTimeResponseHeader
from fakemq.protocol.java import int64
from fakemq.protocol.pop import ORDER_REVIVE_QUEUE, ExtraInfo
from fakemq.protocol.v5.codes import ResponseCode5
from fakemq.protocol.v5.lite import lite_queue

if TYPE_CHECKING:
    from fakemq.broker.v5.broker import Broker5
    from fakemq.dispatch.answers import Request
    from fakemq.protocol.headers.pop import (
        AckMessageRequestHeader,
        ChangeInvisibleTimeRequestHeader,
    )


def acknowledge_lite(broker: Broker5, request: Request[AckMessageRequestHeader]) -> None:
    """Acknowledge one message of a lite topic."""
    header, lite = request.header, broker.lite
    existing_queue(broker, header.topic, header.queue_id, request.session)
    group, topic, offset = header.consumer_group or "", header.topic, header.offset
    if lite.groups.bound_topic(group) != topic:
        raise Refused(ResponseCode5.INVALID_PARAMETER, "group type or bind topic not match.")
    queue = lite_queue(topic, header.lite_topic or "") or ""
    if offset > lite.end_of(queue):
        raise Refused(ResponseCode.NO_MESSAGE, "ack offset illegal.")
    handle = ExtraInfo(header.extra_info)
    if header.queue_id != 0 or handle.revive_queue_id != ORDER_REVIVE_QUEUE:
        raise Refused(ResponseCode5.INVALID_PARAMETER, "ack queue illegal.")
    popped_ms, invisible_ms = handle.pop_time_ms, handle.invisible_time_ms
    place = group, queue, offset, popped_ms, request.session.remote_addr
    if offset < broker.offsets.query(group, queue, 0):
        note_acknowledged(broker, *place, has_effect=False)
        return
    is_out = lite.order.is_out(queue, group, 0, offset, popped_ms)
    following = lite.order.commit_and_next(queue, group, 0, offset, popped_ms)
    if following == ILLEGAL:
        raise Refused(ResponseCode.MESSAGE_ILLEGAL, "ack offset illegal.")
    note_acknowledged(broker, *place, has_effect=is_out)
    if following < 0:
        return
    if broker.offset_resets.has(queue, group, 0):
        broker.offsets.ignore(group, queue, 0, following)
    else:
        broker.offsets.commit(group, queue, 0, following)
    lite.locks.watch(queue, group, 0)
    now_ms = broker.clock.now_ms()
    if not lite.order.is_blocked(None, queue, group, 0, invisible_ms, now_ms):
        lite.events.available(group, queue)


def change_lite(
    broker: Broker5, request: Request[ChangeInvisibleTimeRequestHeader]
) -> Reply[ChangeInvisibleTimeResponseHeader]:
    """Let a message of a lite topic be visible at another time; the topic exists."""
    header, lite = request.header, broker.lite
    group, offset = header.consumer_group or "", header.offset
    queue = lite_queue(header.topic, header.lite_topic or "") or ""
    if offset > lite.end_of(queue):
        raise Refused(ResponseCode.NO_MESSAGE, NOTHING_SAID)
    handle = ExtraInfo(header.extra_info)
    popped_ms = handle.pop_time_ms
    visible_at_ms = int64(broker.clock.now_ms() + header.invisible_time)
    place = group, queue, offset, popped_ms, popped_ms, visible_at_ms, request.session.remote_addr
    if offset < broker.offsets.query(group, queue, 0):
        note_changed(broker, *place, has_effect=False)
        return Reply(ChangeInvisibleTimeResponseHeader(), remark=NOTHING_SAID)
    is_out = lite.order.find(queue, group, 0) is not None and lite.order.is_out(
        queue, group, 0, offset, popped_ms
    )
    if header.suspend:
        lite.order.suspend(queue, group, 0, pop_time_ms=popped_ms, visible_at_ms=visible_at_ms)
    else:
        lite.order.update_next_visible_time(
            queue, group, 0, offset, pop_time_ms=popped_ms, visible_at_ms=visible_at_ms
        )
    lite.locks.watch(queue, group, 0)
    note_changed(broker, *place, has_effect=is_out)
    return Reply(
        ChangeInvisibleTimeResponseHeader(
            pop_time=popped_ms,
            invisible_time=int64(visible_at_ms - popped_ms),
            revive_qid=handle.revive_queue_id,
        ),
        remark=NOTHING_SAID,
    )
