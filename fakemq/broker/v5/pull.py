"""Pulls of 5.5.0: those of 4.9.7, with the flags of topic and group, and with pending resets.

Source: broker/processor/PullMessageProcessor.java#processRequest, #composeResponseHeader (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.pull import MASTER_ID, pull, pull_refusal
from fakemq.broker.v5.parts import parts_of
from fakemq.broker.v5.slave_refusals import check_serves_pulls
from fakemq.config.v5.model import config5
from fakemq.dispatch.answers import Forbidden, Parked, Reply
from fakemq.later import Later
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.sysflag import PullSysFlag

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.dispatch.answers import Request
    from fakemq.protocol.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader


def pull_5(
    broker: Broker, request: Request[PullMessageRequestHeader]
) -> Reply[PullMessageResponseHeader] | Parked[PullMessageResponseHeader]:
    """Answer a pull, now or later; one of a queue with a pending reset is sent there.

    Raise Refused at a slave from which no consumer may read.
    """
    check_serves_pulls(broker)
    header = request.header
    if config5(broker.config).use_server_side_reset_offset:
        queue = (
            header.get("topic", ""),
            header.get("consumer_group", ""),
            header.get("queue_id", -1),
        )
        offset = parts_of(broker).offset_resets.take(*queue)
        if offset is not None:
            return _flagged(broker, request, _to_reset(broker, request, offset))
    try:
        outcome = pull(broker, request)
    except Forbidden as refused:
        return pull_refusal(broker, refused)
    if header.sys_flag & PullSysFlag.SUBSCRIPTION:
        group, topic, text = header.consumer_group, header.topic, header.subscription
        parts_of(broker).read_subscriptions.pulled(group, topic, text, header.expression_type)
    if isinstance(outcome, Reply):
        return _flagged(broker, request, outcome)
    flagged: Parked[PullMessageResponseHeader] = Later()

    def resolve() -> None:
        found = outcome.value
        flagged.resolve(_flagged(broker, request, found) if isinstance(found, Reply) else found)

    outcome.when_done(resolve)
    return flagged


def _to_reset(
    broker: Broker, request: Request[PullMessageRequestHeader], offset: int
) -> Reply[PullMessageResponseHeader]:
    """Return the answer that sends a consumer back; what it commits counts nevertheless."""
    header, store = request.header, broker.store
    group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
    if header.sys_flag & PullSysFlag.COMMIT_OFFSET and not broker.config.is_slave:
        broker.offsets.commit(group, topic, queue_id, header.commit_offset)
    broker.positions.replied(request.session, group, topic, queue_id, offset)
    return Reply(
        ext_fields={
            "suggestWhichBrokerId": str(MASTER_ID),
            "nextBeginOffset": str(offset),
            "minOffset": str(store.min_offset_in_queue(topic, queue_id)),
            "maxOffset": str(store.max_offset_in_queue(topic, queue_id)),
        },
        code=ResponseCode.PULL_OFFSET_MOVED,
        remark="OFFSET_RESET",
    )


def _flagged(
    broker: Broker,
    request: Request[PullMessageRequestHeader],
    reply: Reply[PullMessageResponseHeader],
) -> Reply[PullMessageResponseHeader]:
    """Return the answer with the system flags of its topic and group; keep how far it goes."""
    if reply.ext_fields is not None and reply.code != ResponseCode.NO_PERMISSION:
        header, following = request.header, reply.ext_fields.get("nextBeginOffset")
        if following is not None:
            parts_of(broker).pull_offsets.commit(
                header.topic, header.consumer_group, header.queue_id, int(following)
            )
        topic = broker.topics.select(request.header.topic)
        group = broker.groups.existing(request.header.consumer_group)
        reply.ext_fields |= {
            "topicSysFlag": str(0 if topic is None else topic.topic_sys_flag),
            "groupSysFlag": str(0 if group is None else group.group_sys_flag or 0),
        }
    return reply
