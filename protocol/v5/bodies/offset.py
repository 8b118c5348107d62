"""Offsets, in bodies with fields that only 5.5.0 has."""

from __future__ import annotations

from collections.abc import Generator
from typing import Self

from msgspec import field

from fakemq.protocol.bodies.body import Long
from fakemq.protocol.bodies.offset import (
    ConsumerOffsetSerializeWrapper,
    DelayOffsetSerializeWrapper,
    table_in_steps,
)
from fakemq.protocol.v5.bodies.version import DataVersion5


class DelayOffsetSerializeWrapper5(DelayOffsetSerializeWrapper):
    """Source: broker/schedule/DelayOffsetSerializeWrapper.java (5.5.0)"""

    data_version: DataVersion5 | None = None


class ConsumerOffsetSerializeWrapper5(ConsumerOffsetSerializeWrapper):
    """What code 43 answers. A slave takes ``offset_table`` and ``data_version``.

    ``group_topic_map`` has the topics of each group, ``pull_offset_table`` where its pulls got.
    Source: broker/offset/ConsumerOffsetManager.java#encode (5.5.0)
    """

    data_version: DataVersion5 | None = None
    group_topic_map: dict[str, list[str]] = field(default_factory=dict)
    pull_offset_table: dict[str, dict[int, Long]] = field(default_factory=dict)
    lmq_offset_table: dict[str, Long] | None = None
    """Of light groups, with enableLmq."""

    @classmethod
    def decode_in_steps(cls, data: bytes) -> Generator[None, None, Self]:
        """As that of the base class; of the other fields, only the version is read then."""
        begin, end = data.find(_TABLE), data.rfind(_AFTER_TABLE)
        if begin < 0 or end < begin:
            return cls.decode(data)
        table = yield from table_in_steps(b"{" + data[begin + 1 : end] + b"}")
        if table is None:
            return cls.decode(data)
        head = cls.decode(data[:begin] + b"}")
        return cls(offset_table=table, data_version=head.data_version)


_TABLE, _AFTER_TABLE = b',"offsetTable":', b',"pullOffsetTable":'
