"""PULL_MESSAGE (11): return messages of one queue from an offset on; at the main port only.

Behaviour: as in 4.9.7, but for the flags of topic and group in the answer, and for pending resets:
a pull of a queue with one is sent there.
Refused: at a slave with slaveReadEnable=false: SYSTEM_BUSY.

Source: broker/processor/PullMessageProcessor.java#processRequest, #rejectRequest,
#composeResponseHeader (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.pulling.pull import MASTER_ID, pull, pull_refusal
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import REJECTED, Forbidden, Parked, Refused, Reply
from fakemq.later import Later
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.sysflag import PullSysFlag

if TYPE_CHECKING:
    from fakemq.dispatch.answers import Request
    from fakemq.protocol.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader


@handles(table.PULL_MESSAGE)
def pull_message(
    broker: Broker5, request: Request[PullMessageRequestHeader]
) -> Reply[PullMessageResponseHeader] | Parked[PullMessageResponseHeader]:
    if broker.refuses_pulls():
        raise Refused(ResponseCode.SYSTEM_BUSY, REJECTED)
    header = request.header
    if broker.config.use_server_side_reset_offset:
        queue = (
            header.get("topic", ""),
            header.get("consumer_group", ""),
            header.get("queue_id", -1),
        )
        offset = broker.offset_resets.take(*queue)
        if offset is not None:
            return _flagged(broker, request, _to_reset(broker, request, offset))
    try:
        outcome = pull(broker, request)
    except Forbidden as refused:
        return pull_refusal(broker, refused)
    if header.sys_flag & PullSysFlag.SUBSCRIPTION:
        group, topic, text = header.consumer_group, header.topic, header.subscription
        broker.read_subscriptions.pulled(group, topic, text, header.expression_type)
    if isinstance(outcome, Reply):
        return _flagged(broker, request, outcome)
    flagged: Parked[PullMessageResponseHeader] = Later()

    def resolve() -> None:
        found = outcome.value
        flagged.resolve(_flagged(broker, request, found) if isinstance(found, Reply) else found)

    outcome.when_done(resolve)
    return flagged


def _to_reset(
    broker: Broker5, request: Request[PullMessageRequestHeader], offset: int
) -> Reply[PullMessageResponseHeader]:
    """Return the answer that sends a consumer back; what it commits counts nevertheless."""
    header, store = request.header, broker.store
    group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
    if header.sys_flag & PullSysFlag.COMMIT_OFFSET and not broker.role.is_slave:
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
    broker: Broker5,
    request: Request[PullMessageRequestHeader],
    reply: Reply[PullMessageResponseHeader],
) -> Reply[PullMessageResponseHeader]:
    """Return the answer with the system flags of its topic and group; keep how far it goes."""
    if reply.ext_fields is not None and reply.code != ResponseCode.NO_PERMISSION:
        header, following = request.header, reply.ext_fields.get("nextBeginOffset")
        if following is not None:
            broker.pull_offsets.commit(
                header.topic, header.consumer_group, header.queue_id, int(following)
            )
        topic = broker.topics.select(request.header.topic)
        group = broker.groups.existing(request.header.consumer_group)
        reply.ext_fields |= {
            "topicSysFlag": str(0 if topic is None else topic.topic_sys_flag),
            "groupSysFlag": str(0 if group is None else group.group_sys_flag or 0),
        }
    return reply
