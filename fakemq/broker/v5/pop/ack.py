"""Acknowledgements: of one message, of many, and of messages that were popped in order.

Nothing proves that a message was ever popped: an acknowledgement is a record that a revive looks
for, and any client may write one.

Source: broker/processor/AckMessageProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.v5.pop.checks import existing_queue
from fakemq.broker.v5.pop.noting import note_acknowledged
from fakemq.broker.v5.pop.order import ILLEGAL
from fakemq.dispatch.answers import Refused, Reply
from fakemq.protocol.bodies.pop import AckMsg, BatchAckMsg
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.pop import ORDER_REVIVE_QUEUE, ExtraInfo, real_topic

if TYPE_CHECKING:
    from fakemq.broker.v5.broker import Broker5
    from fakemq.dispatch.answers import Request
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.pop import BatchAck
    from fakemq.protocol.headers.pop import AckMessageRequestHeader
    from fakemq.protocol.table import NoHeader


def acknowledge(broker: Broker5, request: Request[AckMessageRequestHeader]) -> None:
    """Acknowledge one message."""
    header, session, service = request.header, request.session, broker.pop
    group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
    existing_queue(broker, topic, queue_id, session)
    least = broker.store.min_offset_in_queue(topic, queue_id)
    most = broker.store.max_offset_in_queue(topic, queue_id)
    if not least <= header.offset <= most:
        raise Refused(
            ResponseCode.NO_MESSAGE,
            f"offset is illegal, key:{topic}@{queue_id}, commit:{header.offset},"
            f" store:{least}~{most}",
        )
    handle = ExtraInfo(header.extra_info)
    ack = AckMsg(
        broker_name=handle.broker_name,  # read in Java's order: the first bad part is the error
        group=group,
        topic=topic,
        queue_id=queue_id,
        ack_offset=header.offset,
    )
    revive_queue_id = handle.revive_queue_id
    ack.start_offset = handle.start_offset
    ack.pop_time = handle.pop_time_ms
    visible_at_ms = ack.pop_time + handle.invisible_time_ms
    if revive_queue_id == ORDER_REVIVE_QUEUE:
        _in_order(broker, session, ack, header.offset, handle.invisible_time_ms)
        return
    ended = service.log.put_ack(ack, revive_queue_id, visible_at_ms)
    service.inflight.ended(topic, group or "", queue_id, 1, ack.pop_time)
    if ended is not None:  # the answer is SUCCESS in any case, as Java's
        _note(broker, session, ack, header.offset, has_effect=header.offset in ended)


def acknowledge_batch(
    broker: Broker5, session: Session, batch: BatchAck, broker_name: str | None
) -> Reply[NoHeader] | None:
    """Acknowledge messages of one pop; return an answer if it is not SUCCESS.

    Offsets without a message are ignored.
    """
    service, group = broker.pop, batch.group or ""
    topic = real_topic(batch.topic or "", group, batch.retry)
    queue = broker.store.consume_queue(topic, batch.queue_id)
    if queue is None and broker.topics.select(topic) is None:
        return None
    least = broker.store.min_offset_in_queue(topic, batch.queue_id)
    most = broker.store.max_offset_in_queue(topic, batch.queue_id)
    offsets = batch.offsets(least, most)
    ack = BatchAckMsg(
        ack_offset=-1,
        start_offset=batch.start_offset,
        group=group,
        topic=topic,
        queue_id=batch.queue_id,
        pop_time=batch.pop_time,
        broker_name=broker_name,
        ack_offset_list=offsets,
    )
    if batch.revive_queue_id == ORDER_REVIVE_QUEUE:
        answer = None
        for offset in offsets:
            try:
                _in_order(broker, session, ack, offset, batch.invisible_time)
            except Refused as refused:
                answer = Reply[NoHeader](code=refused.code, remark=refused.remark)
        return answer
    if offsets:
        visible_at_ms = batch.pop_time + batch.invisible_time
        ended = service.log.put_ack(ack, batch.revive_queue_id, visible_at_ms)
        service.inflight.ended(topic, group, batch.queue_id, len(offsets), batch.pop_time)
        if ended is not None:
            for offset in offsets:
                _note(broker, session, ack, offset, has_effect=offset in ended)
    return None


def _in_order(
    broker: Broker5, session: Session, ack: AckMsg, offset: int, invisible_time_ms: int
) -> None:
    """Acknowledge a message that was popped in order; commit if it was the next one.

    Source: AckMessageProcessor.java#ackOrderly (5.5.0)
    """
    service = broker.pop
    group, topic, queue_id = ack.group or "", ack.topic or "", ack.queue_id
    committed = broker.offsets.query(group, topic, queue_id)
    is_out = offset >= committed and service.order.is_out(
        topic, group, queue_id, offset, ack.pop_time
    )
    if offset < committed:
        _note(broker, session, ack, offset, has_effect=False)
        return
    following = service.order.commit_and_next(topic, group, queue_id, offset, ack.pop_time)
    if following == ILLEGAL:
        raise Refused(
            ResponseCode.MESSAGE_ILLEGAL,
            f"offset is illegal, key:{topic}@{group}@{queue_id}, old:{committed},"
            f" commit:{offset}, next:{following}, /{session.remote_addr}",
        )
    service.inflight.ended(topic, group, queue_id, 1, ack.pop_time)
    _note(broker, session, ack, offset, has_effect=is_out)
    if following < 0:
        return
    if service.resets.has(topic, group, queue_id):
        broker.offsets.ignore(group, topic, queue_id, following)
    else:
        broker.offsets.commit(group, topic, queue_id, following)
    service.order_changed(topic, group, queue_id)
    now_ms = service.clock.now_ms()
    if not service.order.is_blocked(None, topic, group, queue_id, invisible_time_ms, now_ms):
        service.polling.notify(topic, group, queue_id)


def _note(broker: Broker5, session: Session, ack: AckMsg, offset: int, *, has_effect: bool) -> None:
    note_acknowledged(
        broker,
        ack.group or "",
        ack.topic or "",
        offset,
        ack.pop_time,
        session.remote_addr,
        queue_id=ack.queue_id,
        has_effect=has_effect,
    )
