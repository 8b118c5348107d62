"""JSON of POP: what the revive topic has, batches of acknowledgements, modes and assignments."""

from __future__ import annotations

import base64
import binascii
from itertools import islice
from typing import Annotated, TypeAlias

import msgspec
from msgspec import field

from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.errors import BodyError, NumberFormatError
from fakemq.protocol.header import parse_int
from fakemq.protocol.java import int64

_Byte: TypeAlias = Annotated[int, msgspec.Meta(ge=-128, le=127)]
"""A Java byte."""

MOST_OF_A_POP = 127
"""The most messages of one checkpoint: their number is a byte."""
MOST_REPUTS = 127
"""What a count of re-puts that is no number means."""


class PopCheckPoint(Body, gc=False):
    """The messages of one queue that one pop returned; times are in milliseconds.

    ``bit_map`` is always 0 in a record: it counts acknowledgements while they are collected.
    Source: store/pop/PopCheckPoint.java (5.5.0)
    """

    start_offset: Long = field(default=0, name="so")
    pop_time: Long = field(default=0, name="pt")
    invisible_time: Long = field(default=0, name="it")
    bit_map: Int = field(default=0, name="bm")
    num: _Byte = field(default=0, name="n")
    queue_id: Int = field(default=0, name="q")
    topic: str | None = field(default=None, name="t")
    group: str | None = field(default=None, name="c")
    revive_offset: Long = field(default=0, name="ro")
    queue_offset_diff: list[Int] | None = field(default=None, name="d")
    broker_name: str | None = field(default=None, name="bn")
    re_put_times: str | None = field(default=None, name="rp")
    suspend: bool = field(default=False, name="sp")
    revive_time: Long = 0
    """When the messages become visible; what a record says does not count."""

    def __post_init__(self) -> None:
        time_ms = self.pop_time + self.invisible_time
        self.revive_time = time_ms if 0 <= time_ms < 2**63 else int64(time_ms)

    def offset_at(self, index: int) -> int:
        """Return the queue offset of a message.

        Source: PopCheckPoint.java#ackOffsetByIndex (5.5.0)
        """
        diffs = self.queue_offset_diff
        return self.start_offset + (diffs[index] if diffs else index)

    def unacknowledged(self) -> list[int]:
        """Return the queue offsets of the messages that are not acknowledged."""
        return [self.offset_at(index) for index in range(self.num) if not self.bit_map >> index & 1]

    @property
    def re_puts(self) -> int:
        """How often the checkpoint was put again, because a message could not be revived.

        Differs: a number below 0 counts as 0. Java then revives nothing more of that queue.
        """
        if self.re_put_times is None:
            return 0
        try:
            return max(0, parse_int(self.re_put_times))
        except NumberFormatError:
            return MOST_REPUTS


class AckMsg(Body, gc=False):
    """One message that was acknowledged. Source: store/pop/AckMsg.java (5.5.0)"""

    ack_offset: Long = field(default=0, name="ao")
    start_offset: Long = field(default=0, name="so")
    group: str | None = field(default=None, name="c")
    topic: str | None = field(default=None, name="t")
    queue_id: Int = field(default=0, name="q")
    pop_time: Long = field(default=0, name="pt")
    broker_name: str | None = field(default=None, name="bn")

    @property
    def offsets(self) -> list[int]:
        """The queue offsets that are acknowledged."""
        return [self.ack_offset]


class BatchAckMsg(AckMsg, gc=False):
    """Messages of one checkpoint that were acknowledged together.

    Source: store/pop/BatchAckMsg.java (5.5.0)
    """

    ack_offset_list: list[Long] = field(default_factory=list, name="aol")

    @property
    def offsets(self) -> list[int]:
        return self.ack_offset_list


class BatchAck(Body):
    """Messages of one pop that a client acknowledges together.

    Source: remoting/protocol/body/BatchAck.java (5.5.0)
    """

    group: str | None = field(default=None, name="c")
    topic: str | None = field(default=None, name="t")
    retry: str | None = field(default=None, name="r")
    start_offset: Long = field(default=0, name="so")
    queue_id: Int = field(default=0, name="q")
    revive_queue_id: Int = field(default=0, name="rq")
    pop_time: Long = field(default=0, name="pt")
    invisible_time: Long = field(default=0, name="it")
    bit_set: str | None = field(default=None, name="b")
    """Base64 of the bits, lowest first: bit i stands for ``start_offset + i``."""

    def offsets(self, min_offset: int, max_offset: int) -> list[int]:
        """Return the queue offsets of the bits that are set, of those from min to max_offset.

        Differs: there are at most `MOST_OF_A_POP`, the first ones. A peer may set millions. Raise
        BodyError if there are no bits, where Java throws.
        """
        if not self.bit_set:
            raise BodyError("BatchAck.b is null")
        try:
            bits = base64.b64decode(self.bit_set, validate=True)
        except (binascii.Error, ValueError) as error:
            raise BodyError(f"BatchAck.b: {error}") from None
        least = max(0, min_offset - self.start_offset)
        most = max_offset - self.start_offset
        distances = (
            number * 8 + bit
            for number in range(least // 8, min(len(bits), most // 8 + 1))
            if bits[number]
            for bit in range(8)
            if bits[number] >> bit & 1 and least <= number * 8 + bit <= most
        )
        return [self.start_offset + distance for distance in islice(distances, MOST_OF_A_POP)]


class BatchAckMessageRequestBody(Body):
    """Source: remoting/protocol/body/BatchAckMessageRequestBody.java (5.5.0)"""

    broker_name: str | None = None
    acks: list[BatchAck] | None = None


class OrderInfo(Body):
    """The messages of one queue that a group has in order; times are in milliseconds.

    Source: broker/v5/pop/orderly/QueueLevelConsumerManager.java, OrderInfo (5.5.0)
    """

    pop_time: Long = 0
    invisible_time: Long | None = field(default=None, name="i")
    offset_list: list[Long] = field(default_factory=list, name="o")
    """The first queue offset, then the distance of each further message from the first."""
    offset_next_visible_time: dict[Long, Long] | None = field(default=None, name="ot")
    offset_consumed_count: dict[Long, Int] | None = field(default=None, name="oc")
    last_consume_timestamp: Long = field(default=0, name="l")
    commit_offset_bit: Long = field(default=0, name="cm")
    attempt_id: str | None = field(default=None, name="a")


class ConsumerOrderInfoTable(Body):
    """What consumerOrderInfo.json has, by ``topic@group`` and queue id.

    Source: broker/v5/pop/orderly/QueueLevelConsumerManager.java (5.5.0)
    """

    table: dict[str, dict[Int, OrderInfo]] = field(default_factory=dict)


class SetMessageRequestModeRequestBody(Body):
    """Source: remoting/protocol/body/SetMessageRequestModeRequestBody.java (5.5.0)"""

    topic: str | None = None
    consumer_group: str | None = None
    mode: str = "PULL"
    pop_share_queue_num: Int = 0


class MessageRequestModeTable(Body):
    """Modes by topic and group, as code 402 and messageRequestMode.json have them.

    Source: remoting/protocol/body/MessageRequestModeSerializeWrapper.java (5.5.0)
    """

    message_request_mode_map: dict[str, dict[str, SetMessageRequestModeRequestBody]] = field(
        default_factory=dict
    )


class QueryAssignmentRequestBody(Body):
    """Source: remoting/protocol/body/QueryAssignmentRequestBody.java (5.5.0)"""

    topic: str | None = None
    consumer_group: str | None = None
    client_id: str | None = None
    strategy_name: str | None = None
    message_model: str | None = None


class MessageQueueAssignment(Body):
    """Source: common/message/MessageQueueAssignment.java (5.5.0)"""

    message_queue: MessageQueue
    mode: str = "PULL"


class QueryAssignmentResponseBody(Body):
    """Source: remoting/protocol/body/QueryAssignmentResponseBody.java (5.5.0)"""

    message_queue_assignments: list[MessageQueueAssignment] | None = None
