"""The answer to a pop, as a client of RocketMQ 5 reads it: messages with their receipt handles."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from fakemq.client.errors import MQClientError
from fakemq.client.messages import pulled_messages
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import ProtocolError, RemoteProtocolError
from fakemq.protocol.header import parse_int, parse_long
from fakemq.protocol.headers.pop import PopMessageResponseHeader
from fakemq.protocol.pop import (
    ExtraInfo,
    extra_info,
    offset_order_count,
    parse_infos,
    queue_order_count,
    real_topic,
    start_offset_info,
)
from fakemq.protocol.properties import POP_CK
from fakemq.protocol.v5.codes import ResponseCode5

if TYPE_CHECKING:
    from fakemq.protocol.command import RemotingCommand
    from fakemq.protocol.message import MessageExt


class PopStatus(Enum):
    """How a pop ended.

    Source: client/consumer/PopStatus.java (5.5.0)
    """

    FOUND = "FOUND"
    POLLING_FULL = "POLLING_FULL"
    """The broker holds too many pops to hold this one, too."""
    POLLING_NOT_FOUND = "POLLING_NOT_FOUND"


STATUS_OF = {
    int(ResponseCode.SUCCESS): PopStatus.FOUND,
    int(ResponseCode5.POLLING_FULL): PopStatus.POLLING_FULL,
    int(ResponseCode5.POLLING_TIMEOUT): PopStatus.POLLING_NOT_FOUND,
    int(ResponseCode.PULL_NOT_FOUND): PopStatus.POLLING_NOT_FOUND,
}
"""By response code; any other one is an error."""


class PoppedMessage(msgspec.Struct, kw_only=True):
    """A message that no other pop of the group sees for a while."""

    stored: MessageExt
    """With the topic that was popped, also if it comes from the group's retry topic."""
    broker_name: str
    handle: str
    """The receipt handle, which names the pop; a change of the invisible time replaces it."""
    reconsume_times: int
    """How often it was delivered before."""

    def place(self, group: str) -> tuple[str, int, int]:
        """Return the topic, queue id and queue offset where the message is stored.

        Raise MQClientError for a handle that cannot be read: a producer may set the property
        POP_CK to any text.
        """
        info = self.info()
        topic = real_topic(self.stored.topic, group, info.retry_mark)
        return topic, info.queue_id, info.queue_offset

    def info(self) -> ExtraInfo:
        """Return what the handle says, each part checked; raise MQClientError."""
        info = ExtraInfo(self.handle)
        try:
            real_topic("", "", info.retry_mark)
            numbers = info.pop_time_ms, info.invisible_time_ms, info.revive_queue_id, info.queue_id
            readable = min(info.start_offset, *numbers) >= 0
            readable = readable and info.start_offset <= info.queue_offset
        except ProtocolError:
            readable = False
        if not readable:
            raise MQClientError(f"{self.handle[:200]!r} is no receipt handle of a pop")
        return info


class PopResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a pop. Times are in milliseconds.

    Source: client/consumer/PopResult.java (5.5.0)
    """

    status: PopStatus
    messages: list[PoppedMessage]
    rest: int
    """How many more messages the queues have that the broker read."""
    pop_time_ms: int
    """By the broker's clock."""
    invisible_ms: int


def pop_result(
    answer: RemotingCommand, status: PopStatus, broker_name: str, *, in_order: bool
) -> PopResult:
    """Read the answer to a pop; raise ProtocolError if it cannot be read.

    A message's own handle is read when it is used: a wrong one is no reason to lose the others.

    Source: client/impl/MQClientAPIImpl.java#processPopResponse (5.5.0)
    """
    header = PopMessageResponseHeader.decode(answer.ext_fields)
    found = pulled_messages(answer.body, broker_name) if status is PopStatus.FOUND else []
    starts = parse_infos(header.start_offset_info, "startOffsetInfo")
    counts = parse_infos(header.order_count_info, "orderCountInfo") if in_order else {}
    messages = []
    for stored in found:
        topic, queue_id, offset = stored.topic, stored.queue_id, stored.queue_offset
        handle, times = stored.properties.get(POP_CK), stored.reconsume_times
        if handle is None:
            start = starts.get(_key(start_offset_info(topic, queue_id, 0)))
            if start is None:
                raise RemoteProtocolError(f"startOffsetInfo lacks queue {queue_id} of {topic}")
            handle = extra_info(
                start_offset=parse_long(start),
                pop_time_ms=header.pop_time,
                invisible_time_ms=header.invisible_time,
                revive_queue_id=header.revive_qid,
                topic=topic,
                broker_name=broker_name,
                queue_id=queue_id,
                queue_offset=offset,
            )
            count = counts.get(_key(offset_order_count(topic, queue_id, offset, 0)))
            if count is None:
                count = counts.get(_key(queue_order_count(topic, queue_id, 0)))
            times = max(times, parse_int(count)) if count is not None else times
        messages.append(
            PoppedMessage(
                stored=stored, broker_name=broker_name, handle=handle, reconsume_times=times
            )
        )
    return PopResult(
        status=status,
        messages=messages,
        rest=header.rest_num,
        pop_time_ms=header.pop_time,
        invisible_ms=header.invisible_time,
    )


def _key(entry: str) -> str:
    """Return what an entry of a list is of, as `parse_infos` has it."""
    return entry.rpartition(" ")[0]
