"""Tables of offsets, as slaves fetch them, config files keep them and clients receive them."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Self

from msgspec import field

from fakemq.protocol import fastjson
from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.java import INT_MAX, LONG_MAX

_SPACE = r"[ \t\r\n]*"
_OFFSET = rf"-?[0-9]{{1,10}}{_SPACE}:{_SPACE}-?[0-9]{{1,19}}{_SPACE}"
_BEGIN = re.compile(rf'{_SPACE}\{{{_SPACE}"offsetTable"{_SPACE}:{_SPACE}\{{{_SPACE}')
_OFFSETS = re.compile(
    rf'("(?:[^"\\\x00-\x1f]|\\.)*+"){_SPACE}:{_SPACE}'
    rf"\{{{_SPACE}((?:{_OFFSET}(?:,{_SPACE}{_OFFSET})*+)?)\}}{_SPACE}"
)
"""A key of the table and the offsets of its queues."""
_NEXT = re.compile(rf",{_SPACE}(?=\")")
_END = re.compile(rf"\}}{_SPACE}\}}{_SPACE}")
_BETWEEN_NUMBERS = re.compile(rf"{_SPACE}[:,]{_SPACE}")
_KEYS_A_STEP = 200


class ConsumerOffsetSerializeWrapper(Body):
    """``topic@group`` to queue id to offset.

    Source: common/protocol/body/ConsumerOffsetSerializeWrapper.java (4.9.7)
    """

    offset_table: dict[str, dict[Int, Long]] = field(default_factory=dict)

    @classmethod
    def decode_in_steps(cls, data: bytes) -> Generator[None, None, Self]:
        """`decode`, of a table with many keys: it yields after some of them.

        What fastjson does not write like this is decoded in one step.
        """
        table = yield from table_in_steps(data)
        return cls.decode(data) if table is None else cls(offset_table=table)


class LmqConsumerOffsetSerializeWrapper(ConsumerOffsetSerializeWrapper):
    """The same with light groups: ``topic@group`` to offset, for they have one queue in a topic.

    Source: broker/offset/LmqConsumerOffsetManager.java (4.9.7)
    """

    lmq_offset_table: dict[str, Long] = field(default_factory=dict)
    offset_table: dict[str, dict[Int, Long]] = field(default_factory=dict)  # Java's order


def table_in_steps(data: bytes) -> Generator[None, None, dict[str, dict[int, int]] | None]:
    """Return the offsets in a text that fastjson has written; None for any other text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    begin = _BEGIN.match(text)
    if begin is None:
        return None
    at, table = begin.end(), dict[str, dict[int, int]]()
    while (found := _OFFSETS.match(text, at)) is not None:
        key, offsets = found.groups()
        numbers = [int(one) for one in _BETWEEN_NUMBERS.split(offsets.strip()) if one]
        queue_ids, values = numbers[::2], numbers[1::2]
        if not (_are_within(queue_ids, INT_MAX) and _are_within(values, LONG_MAX)):
            return None
        try:
            name = fastjson.loads(key) if "\\" in key else key[1:-1]
        except fastjson.JsonError:
            return None
        table[name] = dict(zip(queue_ids, values, strict=True))
        at = found.end()
        comma = _NEXT.match(text, at)
        if comma is None:
            break
        at = comma.end()
        if not len(table) % _KEYS_A_STEP:
            yield
    return table if _END.fullmatch(text, at) else None


def _are_within(numbers: list[int], highest: int) -> bool:
    return not numbers or (-highest - 1 <= min(numbers) and max(numbers) <= highest)


class DelayOffsetSerializeWrapper(Body):
    """Delay level to offset in its queue.

    Source: store/schedule/DelayOffsetSerializeWrapper.java (4.9.7)
    """

    offset_table: dict[Int, Long] = field(default_factory=dict)


class QueryCorrectionOffsetBody(Body):
    """Queue id to offset.

    Source: common/protocol/body/QueryCorrectionOffsetBody.java (4.9.7)
    """

    correction_offsets: dict[Int, Long] = field(default_factory=dict)


class ResetOffsetBody(Body):
    """The offsets from which the consumers of a group shall continue.

    Source: common/protocol/body/ResetOffsetBody.java (4.9.7)
    """

    offset_table: dict[MessageQueue, Long] = field(default_factory=dict)


class MessageQueueForC(Body):
    """Source: common/message/MessageQueueForC.java (4.9.7)"""

    topic: str | None = None
    broker_name: str | None = None
    queue_id: Int = 0
    offset: Long = 0


class ResetOffsetBodyForC(Body):
    """A `ResetOffsetBody` without objects for keys, which C++ cannot read.

    Source: common/protocol/body/ResetOffsetBodyForC.java (4.9.7)
    """

    offset_table: list[MessageQueueForC] = field(default_factory=list)


class GetConsumerStatusBody(Body):
    """How far consumers have got: one client's own word, or that of all by client id.

    Source: common/protocol/body/GetConsumerStatusBody.java (4.9.7)
    """

    message_queue_table: dict[MessageQueue, Long] = field(default_factory=dict)
    consumer_table: dict[str, dict[MessageQueue, Long]] = field(default_factory=dict)


# What a broker stores for monitors when it moves a consumer to another offset.


class OffsetMovedEvent(Body):
    """Source: common/protocol/topic/OffsetMovedEvent.java (4.9.7)"""

    consumer_group: str | None = None
    message_queue: MessageQueue | None = None
    offset_request: Long = 0
    offset_new: Long = 0
