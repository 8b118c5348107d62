"""What becomes of a put: where its records were appended, and how it ended.

Classes without ``__init__``, made by functions, for the reason in `fakemq.store.inner_message`.
Names as in Java's org.apache.rocketmq.store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.store.results import LogRecord, PutMessageStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fakemq.store.inner_message import RecordDraft


class AppendMessageResult:
    """Where in the log records were appended: one, or those of a batch without a gap.

    ``wrote_offset`` and ``wrote_bytes`` are the physical range to wait for in flush and
    replication; ``logics_offset`` is the queue offset of the first. ``msg_id`` holds the offset
    ids, those of a batch joined by commas. The fields behind that say what was appended; ``units``
    are the entries of the records for their queue.
    """

    __slots__ = (
        "drafts",
        "logics_offset",
        "msg_id",
        "queue_id",
        "store_timestamp_ms",
        "sys_flag",
        "topic",
        "units",
        "wrote_bytes",
        "wrote_offset",
    )

    wrote_offset: int
    wrote_bytes: int
    store_timestamp_ms: int
    logics_offset: int
    msg_id: str
    topic: str
    queue_id: int
    sys_flag: int
    drafts: list[RecordDraft]
    units: bytes

    @property
    def msg_num(self) -> int:
        """How many records were appended."""
        return len(self.drafts)

    def part(self, first: int, number: int) -> AppendMessageResult:
        """Return the result of the records from number ``first`` on, at most ``number``."""
        drafts = self.drafts[first : first + number]
        units = self.units[first * UNIT.size : (first + len(drafts)) * UNIT.size]
        return appended(
            UNIT.unpack_from(units)[0] if units else self.wrote_offset,
            sum([size_bytes for _, _, _, size_bytes, _, _ in drafts]),
            self.store_timestamp_ms,
            self.logics_offset + first,
            "",
            self.topic,
            self.queue_id,
            self.sys_flag,
            drafts,
            units,
        )

    def records(self) -> list[LogRecord]:
        """Return the records, as they are in the log."""
        topic, queue_id, sys_flag = self.topic, self.queue_id, self.sys_flag
        stored_ms, queue_offset = self.store_timestamp_ms, self.logics_offset
        records: list[LogRecord] = []
        units = UNIT.iter_unpack(self.units)
        for (_, _, properties, _, _, _), (phy_offset, size_bytes, code) in zip(
            self.drafts, units, strict=True
        ):
            at = (topic, queue_id, queue_offset, phy_offset)
            records.append(LogRecord(*at, size_bytes, sys_flag, code, stored_ms, properties))
            queue_offset += 1
        return records

    def __repr__(self) -> str:
        return (
            f"<{self.msg_num} appended at {self.wrote_offset}, {self.wrote_bytes} bytes,"
            f" queue offset {self.logics_offset}>"
        )


def appended(
    wrote_offset: int,
    wrote_bytes: int,
    store_timestamp_ms: int,
    logics_offset: int,
    msg_id: str,
    topic: str,
    queue_id: int,
    sys_flag: int,
    drafts: list[RecordDraft],
    units: bytes,
) -> AppendMessageResult:
    """Return an `AppendMessageResult` with these fields."""
    result = AppendMessageResult()
    result.wrote_offset = wrote_offset
    result.wrote_bytes = wrote_bytes
    result.store_timestamp_ms = store_timestamp_ms
    result.logics_offset = logics_offset
    result.msg_id = msg_id
    result.topic = topic
    result.queue_id = queue_id
    result.sys_flag = sys_flag
    result.drafts = drafts
    result.units = units
    return result


class PutMessageResult:
    """How a put ended, and where its record is; ``append_result`` is None if it was not stored.

    The put is safe once the log is flushed up to ``flush_to`` and a slave has it up to
    ``replicate_to``. Both are physical offsets; None means that there is nothing to wait for.
    ``reason`` is a clause, where Java has no such reason; `here` is what Java's remark gets of it.
    """

    __slots__ = (
        "append_result",
        "flush_to",
        "light",
        "reached",
        "reason",
        "replicate_to",
        "status",
        "when_queued",
    )

    status: PutMessageStatus
    append_result: AppendMessageResult | None
    reason: str
    flush_to: int | None
    replicate_to: int | None
    reached: list[LogRecord] | None
    """The records that reached their queues; None: all records that were appended."""
    light: Sequence[LogRecord]
    """The records as they are in the queues that they name beside their own."""
    when_queued: Callable[[Callable[[], None]], None] | None
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


def put_ended(
    status: PutMessageStatus,
    append_result: AppendMessageResult | None = None,
    reason: str = "",
    reached: list[LogRecord] | None = None,
    light: Sequence[LogRecord] = (),
) -> PutMessageResult:
    """Return a `PutMessageResult` with these fields, for which no sender has to wait yet."""
    result = PutMessageResult()
    result.status = status
    result.append_result = append_result
    result.reason = reason
    result.flush_to = None
    result.replicate_to = None
    result.reached = reached
    result.light = light
    result.when_queued = None
    return result
