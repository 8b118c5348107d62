"""The results of puts, gets and queries, with the names of Java's org.apache.rocketmq.store."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

import msgspec

from fakemq.protocol.message import record_struct
from fakemq.store.records import LogRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.store.records import RecordDraft


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


class AppendMessageResult(msgspec.Struct):
    """Where in the log records were appended: one, or those of a batch without a gap.

    ``wrote_offset`` and ``wrote_bytes`` are the physical range to wait for in flush and
    replication; ``logics_offset`` is the queue offset of the first. ``msg_id`` holds the offset
    ids, those of a batch joined by commas. The fields behind that say what was appended.
    """

    wrote_offset: int
    wrote_bytes: int
    store_timestamp_ms: int
    logics_offset: int
    msg_num: int
    msg_id: str
    topic: str = ""
    queue_id: int = 0
    sys_flag: int = 0
    drafts: list[RecordDraft] = []

    def records(self) -> list[LogRecord]:
        """Return the records, as they are in the log."""
        records: list[LogRecord] = []
        phy_offset = self.wrote_offset
        for queue_offset, draft in enumerate(self.drafts, self.logics_offset):
            at = (self.topic, self.queue_id, queue_offset, phy_offset)
            what = (draft.size_bytes, self.sys_flag, draft.tags_code, self.store_timestamp_ms)
            records.append(LogRecord(*at, *what, draft))
            phy_offset += draft.size_bytes
        return records

    def __repr__(self) -> str:
        return (
            f"<{self.msg_num} appended at {self.wrote_offset}, {self.wrote_bytes} bytes,"
            f" queue offset {self.logics_offset}>"
        )


class PutMessageResult(msgspec.Struct):
    """How a put ended, and where its record is; ``append_result`` is None if it was not stored.

    The put is safe once the log is flushed up to ``flush_to`` and a slave has it up to
    ``replicate_to``. Both are physical offsets; None means that there is nothing to wait for.
    ``reason`` is a clause, where Java has no such reason; `here` is what Java's remark gets of it.
    """

    status: PutMessageStatus
    append_result: AppendMessageResult | None = None
    reason: str = ""
    flush_to: int | None = None
    replicate_to: int | None = None
    reached: list[LogRecord] | None = None
    """The records that reached their queues; None: all records that were appended."""
    light: list[LogRecord] = []
    """The records as they are in the queues that they name beside their own."""
    when_queued: Callable[[Callable[[], None]], None] | None = None
    """If the records follow to their queue in slices: takes the function to call after that."""

    @property
    def records(self) -> list[LogRecord]:
        """The records that reached their queues; fewer than were appended if that failed."""
        if self.reached is not None:
            return self.reached
        return [] if self.append_result is None else self.append_result.records()

    @property
    def ok(self) -> bool:
        """Whether the record was stored without a time-out or a missing slave."""
        return self.status is PutMessageStatus.PUT_OK

    @property
    def why(self) -> str:
        """The name of the status, with the reason if there is one."""
        return f"{self.status.name}: {self.reason}" if self.reason else self.status.name

    @property
    def here(self) -> str:
        """The reason as a sentence, to be added to a remark; "" if there is none."""
        return f" Here {self.reason}." if self.reason else ""

    def __repr__(self) -> str:
        return f"<put {self.status.name} {self.append_result}>"


class GetMessageResult(msgspec.Struct):
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


def queue_offsets(result: GetMessageResult) -> tuple[int, ...]:
    """Return the queue offsets of the records found."""
    offsets = []
    for records in result.buffers:
        at = 0
        while at < len(records):
            size_bytes, offset = _SIZE_AND_QUEUE_OFFSET.unpack_from(records, at)
            offsets.append(offset)
            at += size_bytes
    return tuple(offsets)


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
