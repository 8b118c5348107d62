"""INVOKE_BROKER_TO_RESET_OFFSET (222): move the consumers of a group to a time.

Behaviour: every member is sent the new offset of each queue (code 220, one-way), and commits it
itself. Without ``isForce`` no consumer skips messages. Time -1 is the end of the queue. C++ clients
get a list, all others a map. On success the remark is not cleared.
Refused: a topic that does not exist, a queue without an offset of the group, a member before 3.0.7
(members before it have been notified): SYSTEM_ERROR; a group without members: CONSUMER_NOT_ONLINE.
Differs: a topic of more than 32,768 queues is refused with SYSTEM_ERROR.

Source: broker/client/net/Broker2Client.java#resetOffset (4.9.7)
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker, handles
from fakemq.broker.clients.relay import too_old
from fakemq.broker.tables.consume_stats import queues_of
from fakemq.broker.tables.offsets import NO_OFFSET
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import NOTHING_SAID, Refused, Reply, Request
from fakemq.dispatch.outcomes import NULL
from fakemq.protocol import table
from fakemq.protocol.bodies.offset import MessageQueueForC, ResetOffsetBody, ResetOffsetBodyForC
from fakemq.protocol.codes import LanguageCode, RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.offset import ResetOffsetRequestHeader
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.table import NoHeader
from fakemq.protocol.versions import V3_0_7_SNAPSHOT

if TYPE_CHECKING:
    from fakemq.protocol.bodies.queue import MessageQueue

THE_END = -1
"""The timestamp that stands for the end of every queue."""


@handles(table.INVOKE_BROKER_TO_RESET_OFFSET)
def invoke_broker_to_reset_offset(
    broker: Broker, request: Request[ResetOffsetRequestHeader]
) -> Steps[Reply[NoHeader]]:
    return (yield from reset_by_clients(broker, request.command.language, request.header))


def reset_by_clients(
    broker: Broker, language: LanguageCode, header: ResetOffsetRequestHeader
) -> Steps[Reply[NoHeader]]:
    """Send every member the new offsets, and answer with them."""
    offsets = yield from _offsets(broker, header)
    command = RemotingCommand(
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
        # Java does not pass isForce on to the clients.
        ext_fields=ResetOffsetRequestHeader(
            topic=header.topic, group=header.group, timestamp=header.timestamp
        ).encode(),
        body=(yield from _body(offsets, for_c=language is LanguageCode.CPP)),
    )
    body = yield from ResetOffsetBody(offset_table=offsets).encode_in_steps()
    # Members may have left meanwhile, so nothing is looked up before all bodies are there.
    old_version = _notify(broker, header, command)
    for queue, offset in offsets.items():
        broker.offsets.note_reset(
            header.group,
            header.topic,
            queue.queue_id,
            offset,
            to_ms=header.timestamp,
            how="members",
        )
        yield
    if old_version is not None:
        raise too_old(old_version)
    return Reply(body=body, remark=NOTHING_SAID)


def _notify(
    broker: Broker, header: ResetOffsetRequestHeader, command: RemotingCommand
) -> int | None:
    """Send a command to the members up to the first that is too old, and return its version.

    Raise Refused if none is sent it.
    """
    info = broker.consumers.group(header.group)
    if info is None:
        raise Refused(
            ResponseCode.CONSUMER_NOT_ONLINE,
            f"Consumer not online, so can not reset offset, Group: {header.group}"
            f" Topic: {header.topic} Timestamp: {header.timestamp}",
        )
    for number, channel in enumerate(list(info.channels.values())):
        if channel.version < V3_0_7_SNAPSHOT:
            if not number:
                raise too_old(channel.version)
            return channel.version
        broker.calls.send_oneway(channel.session, copy(command))
    return None


def _offsets(broker: Broker, header: ResetOffsetRequestHeader) -> Steps[dict[MessageQueue, int]]:
    """Return the new offset of each write queue."""
    topic, group = header.topic, header.get("group", NULL)
    config = broker.topics.select(topic)
    if config is None:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"[reset-offset] reset offset failed, no topic in this broker. topic={topic}",
        )
    offsets = {}
    for queue in queues_of(broker, topic, config.write_queue_nums):
        queue_id = queue.queue_id
        committed = broker.offsets.query(group, topic, queue_id)
        if committed == NO_OFFSET:
            raise Refused(ResponseCode.SYSTEM_ERROR, f"THe consumer group <{group}> not exist")
        if header.timestamp == THE_END:
            offset = broker.store.max_offset_in_queue(topic, queue_id)
        else:
            offset = broker.store.offset_in_queue_by_time(topic, queue_id, header.timestamp)
        offsets[queue] = offset if header.is_force else min(offset, committed)
        yield
    return {queue: offsets[queue] for queue in java_hash_map_order(offsets)}


def _body(offsets: dict[MessageQueue, int], *, for_c: bool) -> Steps[bytes]:
    if not for_c:
        return ResetOffsetBody(offset_table=offsets).encode_in_steps()
    return ResetOffsetBodyForC(
        offset_table=[
            MessageQueueForC(
                topic=queue.topic,
                broker_name=queue.broker_name,
                queue_id=queue.queue_id,
                offset=offset,
            )
            for queue, offset in offsets.items()
        ]
    ).encode_in_steps()
