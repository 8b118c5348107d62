"""How puts end, the records that they leave, and what gets and queries return.

Names as in Java's org.apache.rocketmq.store.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import Final

import msgspec

from fakemq.protocol.message import record_struct
from fakemq.protocol.properties import decode_properties


class PutMessageStatus(Enum):
    """How a put ended; with the first four the message is stored."""

    PUT_OK = auto()
    FLUSH_DISK_TIMEOUT = auto()
    FLUSH_SLAVE_TIMEOUT = auto()
    SLAVE_NOT_AVAILABLE = auto()
    SERVICE_NOT_AVAILABLE = auto()
    CREATE_MAPEDFILE_FAILED = auto()
    MESSAGE_ILLEGAL = auto()
    PROPERTIES_SIZE_EXCEEDED = auto()
    OS_PAGECACHE_BUSY = auto()
    UNKNOWN_ERROR = auto()
    LMQ_CONSUME_QUEUE_NUM_EXCEEDED = auto()
    WHEEL_TIMER_FLOW_CONTROL = auto()
    WHEEL_TIMER_MSG_ILLEGAL = auto()
    WHEEL_TIMER_NOT_ENABLE = auto()
    IN_SYNC_REPLICAS_NOT_ENOUGH = auto()
    PUT_TO_REMOTE_BROKER_FAIL = auto()

    @property
    def final(self) -> bool:
        """Whether the same message would be refused again, whenever it is put."""
        return self in _FINAL


_FINAL = (
    PutMessageStatus.MESSAGE_ILLEGAL,
    PutMessageStatus.PROPERTIES_SIZE_EXCEEDED,
    PutMessageStatus.WHEEL_TIMER_MSG_ILLEGAL,
    PutMessageStatus.WHEEL_TIMER_NOT_ENABLE,
)


class GetMessageStatus(Enum):
    """How a get ended."""

    FOUND = auto()
    NO_MATCHED_MESSAGE = auto()
    MESSAGE_WAS_REMOVING = auto()
    OFFSET_FOUND_NULL = auto()
    OFFSET_OVERFLOW_BADLY = auto()
    OFFSET_OVERFLOW_ONE = auto()
    OFFSET_TOO_SMALL = auto()
    NO_MATCHED_LOGIC_QUEUE = auto()
    NO_MESSAGE_IN_QUEUE = auto()


class LogRecord(msgspec.Struct, gc=False):
    """The fields of a record of the log that its consume queue needs.

    ``size_bytes`` is the whole record; ``phy_offset`` counts bytes of the log, ``queue_offset``
    entries of the queue. ``tags_code`` is the hash of the tags, or in the schedule topic the time
    in milliseconds at which the record is due.
    Source: store/DispatchRequest.java (4.9.7)
    """

    topic: str
    queue_id: int
    queue_offset: int
    phy_offset: int
    size_bytes: int
    sys_flag: int
    tags_code: int
    store_timestamp_ms: int
    properties: bytes = b""
    """As a put has stored them; b"" for a record that was read from a log."""

    @property
    def decoded_properties(self) -> dict[str, str]:
        """The properties as a mapping: a text may have had letters that become others there."""
        return decode_properties(self.properties.decode("utf-8", "replace"))


class GetMessageResult(msgspec.Struct, gc=False):
    """Records for a pull, as slices of the log: neighbours in the log are one buffer.

    ``message_count`` says how many records the buffers hold; joined they are a pull answer's body.
    """

    status: GetMessageStatus
    next_begin_offset: int
    min_offset: int
    max_offset: int
    fall_behind_bytes: int = -1
    """How far the last entry read is behind the log's end; below 0 if none was read."""
    suggest_pulling_from_slave: bool = False
    buffers: list[memoryview] = []
    message_count: int = 0
    buffer_total_size: int = 0

    @property
    def body(self) -> bytes:
        """All records in one piece, copied."""
        return b"".join(self.buffers)

    def __repr__(self) -> str:
        return (
            f"<get {self.status.name}: {self.message_count} messages,"
            f" {self.buffer_total_size} bytes, next {self.next_begin_offset},"
            f" queue [{self.min_offset}, {self.max_offset})>"
        )


_SIZE_AND_QUEUE_OFFSET: Final = record_struct("total_size", "queue_offset")
"""The two fields of a stored record that tell which it is and where the next one is."""


def found_records(result: GetMessageResult) -> Iterator[tuple[int, memoryview]]:
    """Yield each record found, with its queue offset."""
    for records in result.buffers:
        at = 0
        while at < len(records):
            size_bytes, offset = _SIZE_AND_QUEUE_OFFSET.unpack_from(records, at)
            yield offset, records[at : at + size_bytes]
            at += size_bytes


class QueryMessageResult:
    """Records found by key, and how far the index reaches: store time in ms, physical offset."""

    __slots__ = ("buffers", "index_last_update_phyoffset", "index_last_update_timestamp")

    def __init__(self) -> None:
        self.buffers: list[memoryview] = []
        self.index_last_update_timestamp = 0
        self.index_last_update_phyoffset = 0

    @property
    def body(self) -> bytes:
        """All records in one piece, copied."""
        return b"".join(self.buffers)
