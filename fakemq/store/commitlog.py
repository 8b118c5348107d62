"""The commit log: every record of a broker, in the order of arrival.

Only `CommitLog.append` and `CommitLog.append_data` move the end forward. The log knows topics only
as keys of the table of next queue offsets. Source: store/CommitLog.java (4.9.7)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from zlib import crc32

from fakemq.errors import StoreError
from fakemq.protocol.hosts import pack_host
from fakemq.protocol.java import CRC32_MASK
from fakemq.protocol.layout.codecs import BLANK, RECORD_FIELDS, RECORD_HEAD, RECORD_LEAST_BYTES
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.protocol.message import (
    BLANK_MAGIC_CODE,
    BLANK_MIN_BYTES,
    MESSAGE_MAGIC_CODE,
    record_fields,
    record_starts,
    record_store_timestamp_ms,
)
from fakemq.protocol.native import record as _record
from fakemq.protocol.sysflag import UNQUEUED, MessageSysFlag
from fakemq.protocol.topics import LMQ_PREFIX
from fakemq.store.mapped_file_queue import Cut, MappedFileQueue
from fakemq.store.puts import AppendMessageResult, appended

if TYPE_CHECKING:
    from fakemq.store.files import File, Files
    from fakemq.store.inner_message import InnerMessage, RecordDraft

FOLDER: Final = "commitlog"
_pack_host: Final = pack_host  # compiled code would look up an imported name in a dictionary
_ZEROS: Final = bytes(1 << 16)
_TRANSACTION_MASK: Final = MessageSysFlag.TRANSACTION_MASK
_V6_FLAGS: Final = MessageSysFlag.BORNHOST_V6 | MessageSysFlag.STOREHOSTADDRESS_V6
_starts: Final = {
    flags: tuple(start.pack for start in record_starts(flags))
    for flags in (
        0,
        MessageSysFlag.BORNHOST_V6,
        MessageSysFlag.STOREHOSTADDRESS_V6,
        _V6_FLAGS,
    )
}
"""By the two flags: what packs the fields before a body that are equal in a put, then all."""
_pack_head: Final = record_fields("total_size", "magic_code").pack
_place: Final = record_fields("queue_id", "flag")
_pack_place: Final = _place.pack
_moving: Final = struct.Struct(f">i{_place.size}sqq")
_MOVING_BYTES: Final = _moving.size
_pack_moving: Final = _moving.pack
"""From the checksum of a body to the physical offset, with what `_pack_place` has packed."""
_pack_body_bytes: Final = record_fields("body_bytes").pack
_pack_topic_bytes: Final = record_fields("topic_bytes").pack
_pack_properties_bytes: Final = record_fields("properties_bytes").pack
_pack_unit: Final = UNIT.pack
_OFFSET_AT: Final = RECORD_FIELDS["physical_offset"][0]
_OFFSET_END: Final = RECORD_FIELDS["sys_flag"][0]
_OFFSET_BYTES: Final = _OFFSET_END - _OFFSET_AT


@lru_cache(maxsize=1024)
def _packed_topic(topic: str) -> bytes:
    """Return a topic behind its length."""
    data = topic.encode()
    packed: bytes = _pack_topic_bytes(len(data)) + data
    return packed


def _packed(
    message: InnerMessage,
    drafts: list[RecordDraft],
    queue_offset: int,
    phy_offset: int,
    packed_topic: bytes,
    store_host: bytes,
    now_ms: int,
) -> tuple[bytes, bytes, str]:
    """Return the records of a put, their entries for the queue, and their offset ids.

    What is the same in records that follow each other is packed once.
    """
    queue_id, sys_flag = message.queue_id, message.sys_flag
    pack_equal, pack_start = _starts[sys_flag & _V6_FLAGS]
    equal: bytes = pack_equal(
        sys_flag,
        message.born_timestamp_ms,
        _pack_host(message.born_host),
        now_ms,
        store_host,
        message.reconsume_times,
        message.prepared_transaction_offset,
    )
    if len(drafts) == 1:
        flag, body, properties, record_bytes, code, _ = drafts[0]
        start = pack_start(
            record_bytes,
            MESSAGE_MAGIC_CODE,
            crc32(body) & CRC32_MASK,
            queue_id,
            flag,
            queue_offset,
            phy_offset,
            equal,
            len(body),
        )
        between = packed_topic + _pack_properties_bytes(len(properties))
        records = b"".join((start, body, between, properties))
        msg_id = (store_host + start[_OFFSET_AT:_OFFSET_END]).hex().upper()
        return records, _pack_unit(phy_offset, record_bytes, code), msg_id
    pieces: list[bytes] = []
    units: list[bytes] = []
    offsets = [b""]
    size_bytes = body_bytes = tags_code = same_flag = -1
    head = place = tail = between = unit_end = b""
    checksum, offset_at = crc32, _MOVING_BYTES - _OFFSET_BYTES
    for flag, body, properties, record_bytes, code, _ in drafts:
        if (
            record_bytes != size_bytes
            or len(body) != body_bytes
            or code != tags_code
            or flag != same_flag
        ):
            size_bytes, body_bytes, tags_code, same_flag = record_bytes, len(body), code, flag
            head = _pack_head(record_bytes, MESSAGE_MAGIC_CODE)
            place = _pack_place(queue_id, flag)
            tail = equal + _pack_body_bytes(body_bytes)
            between = packed_topic + _pack_properties_bytes(len(properties))
            unit_end = _pack_unit(0, record_bytes, code)[_OFFSET_BYTES:]
        moving = _pack_moving(checksum(body) & CRC32_MASK, place, queue_offset, phy_offset)
        offset = moving[offset_at:]
        pieces += (head, moving, tail, body, between, properties)
        units.append(offset)
        units.append(unit_end)
        offsets.append(offset)
        phy_offset += record_bytes
        queue_offset += 1
    ids = store_host.join(offsets).hex(",", len(store_host) + _OFFSET_BYTES).upper()
    return b"".join(pieces), b"".join(units), ids


class CommitLog:
    """Records in files of ``mappedFileSizeCommitLog`` bytes, found by physical offset."""

    def __init__(self, files: Files, file_size_bytes: int) -> None:
        self._queue = MappedFileQueue(files, FOLDER, file_size_bytes)
        self.file_size_bytes = file_size_bytes
        self.most_bytes = file_size_bytes - BLANK_MIN_BYTES
        """The largest record, or batch of records, that a file has room for."""
        self.topic_queue_table: dict[tuple[str, int], int] = {}
        """The next queue offset by topic and queue id."""
        self.lmq_topic_queue_table: dict[tuple[str, int], int] = {}
        """The same for messages that name a light queue; what is sent to one counts apart."""
        self.records_end: int | None = None
        """On a slave the physical offset behind the last complete record; None on a master.

        A slave's log is copied byte by byte, so half a record may stand behind it.
        """

    def load(self, now_ms: int) -> None:
        """Open the existing files, each as if it were full; recovery finds the real end."""
        self._queue.load(now_ms)

    @property
    def files(self) -> list[tuple[int, File]]:
        """The files with the offsets of their first bytes."""
        queue = self._queue
        return [(queue.first_offset_of(index), file) for index, file in enumerate(queue.row)]

    def set_next_offset(self, topic: str, queue_id: int, offset: int) -> None:
        """Continue a queue at an offset.

        Source: store/CommitLog.java#setTopicQueueTable, #setLmqTopicQueueTable (4.9.7)
        """
        self.topic_queue_table[topic, queue_id] = offset
        if topic.startswith(LMQ_PREFIX):
            self.lmq_topic_queue_table[topic, queue_id] = offset

    def forget_queue(self, topic: str, queue_id: int) -> None:
        """Begin a queue at 0 again.

        Source: store/CommitLog.java#removeQueueFromTopicQueueTable (4.9.7)
        """
        self.topic_queue_table.pop((topic, queue_id), None)
        self.lmq_topic_queue_table.pop((topic, queue_id), None)

    def truncate(self, offset: int) -> list[Cut]:
        """Cut the log off at a physical offset; return what was cut off."""
        return self._queue.truncate(offset)

    @property
    def max_offset(self) -> int:
        """Physical offset of the end; the next record begins here if it fits into the last file."""
        return self._queue.max_offset

    @property
    def whole_end(self) -> int:
        """Where a start would find the end: before the half record that a slave may have."""
        end, at = self.records_end, self.max_offset
        return end if end is not None and at % self.file_size_bytes else at

    @property
    def min_offset(self) -> int:
        """Physical offset of the first byte that is not deleted; -1 if there is none.

        Source: store/CommitLog.java#getMinOffset (4.9.7)
        """
        return self._queue.min_offset

    @property
    def oldest_but_last(self) -> File | None:
        """The first file, unless it is also the last."""
        row = self._queue.row
        return row[0] if len(row) > 1 else None

    def append(
        self, message: InnerMessage, drafts: list[RecordDraft], size_bytes: int, now_ms: int
    ) -> AppendMessageResult:
        """Append the records of a message, or of a batch, next to each other.

        ``size_bytes`` is that of all records together, at most `most_bytes`. Records get their
        queue offsets, physical offsets and store time here and nowhere else.
        Source: store/CommitLog.java#doAppend (4.9.7)
        """
        topic, queue_id, sys_flag = message.topic, message.queue_id, message.sys_flag
        key = (topic, queue_id)
        queued = sys_flag & _TRANSACTION_MASK not in UNQUEUED
        logics_offset = self.topic_queue_table.get(key, 0) if queued else 0
        file = self._file_with_room(size_bytes, now_ms)
        wrote_offset = self._queue.last_offset + file.position
        packed_topic, store_host = _packed_topic(topic), _pack_host(message.store_host)
        number = len(drafts)
        if number == 1 and _record is not None:
            flag, body, properties, _, code, _ = drafts[0]
            records, units, msg_id = _record(
                body,
                properties,
                packed_topic,
                _pack_host(message.born_host),
                store_host,
                code,
                queue_id,
                flag,
                logics_offset,
                wrote_offset,
                sys_flag,
                message.born_timestamp_ms,
                now_ms,
                message.reconsume_times,
                message.prepared_transaction_offset,
            )
        else:
            records, units, msg_id = _packed(
                message, drafts, logics_offset, wrote_offset, packed_topic, store_host, now_ms
            )
        assert len(records) == size_bytes
        # In one write, so that a full disk takes all records or none.
        file.append(records, now_ms)
        if queued:
            self.topic_queue_table[key] = logics_offset + number
        return appended(
            wrote_offset,
            size_bytes,
            now_ms,
            logics_offset,
            msg_id,
            topic,
            queue_id,
            sys_flag,
            drafts,
            units,
        )

    def append_data(self, start_offset: int, data: bytes, now_ms: int) -> None:
        """Append bytes that begin at ``start_offset`` in the master's log, where this log ends.

        An empty log begins at that offset. Raise StoreError if the bytes do not fit the files,
        because the master's files have another size; Java writes them elsewhere or drops them.
        Source: store/CommitLog.java#appendData (4.9.7)
        """
        queue = self._queue
        position = start_offset % queue.file_size_bytes
        last = queue.last
        if position + len(data) > queue.file_size_bytes or position != (
            0 if last is None else last.position % last.size_bytes
        ):
            raise StoreError(
                f"{len(data)} bytes from offset {start_offset} have no place in files of"
                f" {queue.file_size_bytes}; mappedFileSizeCommitLog must be that of the master"
            )
        if last is not None and not last.position and queue.last_offset != start_offset:
            queue.drop_last()  # the log was cut at 0, and the master's log begins elsewhere
            last = None
        # Recovery may have left an empty last file, which is used then.
        if last is None or last.position == last.size_bytes:
            last = queue.add_file(start_offset, now_ms)
        last.append(data, now_ms)

    def _file_with_room(self, size_bytes: int, now_ms: int) -> File:
        # There are three cases:
        # 1. The records fit into the last file.
        # 2. They do not: a blank fills the rest of it, and they go into a new file. The bytes of
        #    the blank count in offsets.
        # 3. There is no file yet.
        last = self._queue.last
        if last is not None:
            left_bytes = last.size_bytes - last.position
            if size_bytes + BLANK_MIN_BYTES <= left_bytes:
                return last
            if left_bytes:
                last.append(BLANK.pack(left_bytes, BLANK_MAGIC_CODE), now_ms)
                last.truncate(last.size_bytes)
        return self._queue.add_file(0, now_ms)

    def next_file_offset(self, offset: int) -> int:
        """Return the first offset of the file behind the one that contains ``offset``.

        Source: store/CommitLog.java#rollNextFile (4.9.7)
        """
        size_bytes = self._queue.file_size_bytes
        return offset + size_bytes - offset % size_bytes

    def find_file(self, offset: int) -> tuple[File, int] | None:
        """Return the file that has a written byte at ``offset``, and the file's first offset."""
        file = self._queue.find(offset)
        if file is None:
            return None
        position = offset % self._queue.file_size_bytes
        return (file, offset - position) if position < file.position else None

    def read(self, offset: int, size_bytes: int) -> memoryview | None:
        """Return ``size_bytes`` of the log; None if some are missing or in another file.

        Source: store/CommitLog.java#getMessage (4.9.7)
        """
        file = self._queue.find(offset)
        if file is None or size_bytes < 0:
            return None
        start = offset % self._queue.file_size_bytes
        end = start + size_bytes
        return file.view[start:end] if end <= file.position else None

    def read_from(self, offset: int) -> memoryview | None:
        """Return written bytes from ``offset`` on, all from one file, not copied.

        Behind the blank at a file's end these are pieces of zeros, which the disk does not have.

        Source: store/CommitLog.java#getData (4.9.7)
        """
        found = self.find_file(offset)
        if found is None:
            return None
        file, first = found
        position, end = offset - first, file.position
        return file.view[position:end] or memoryview(_ZEROS)[: end - position]

    def records(self, start_offset: int, end_offset: int) -> Iterator[tuple[int, memoryview]]:
        """Yield every record in [start, end), with its offset; deleted files are skipped."""
        at = max(start_offset, self.min_offset)
        while at < end_offset:
            data = self.read_from(at)
            position = 0
            while data is not None and position + BLANK_MIN_BYTES <= len(data):
                if at + position >= end_offset:
                    return
                size_bytes, magic = RECORD_HEAD.unpack_from(data, position)
                if magic == BLANK_MAGIC_CODE or size_bytes <= 0:
                    break
                yield at + position, data[position : position + size_bytes]
                position += size_bytes
            at = self.next_file_offset(at)

    def record_at(self, offset: int) -> memoryview | None:
        """Return the record that begins at ``offset``, of the size that its first field has.

        Source: store/DefaultMessageStore.java#selectOneMessageByOffset (4.9.7)
        """
        head = self.read(offset, 4)
        return None if head is None else self.read(offset, int.from_bytes(head, signed=True))

    def store_timestamp_ms(self, offset: int, size_bytes: int) -> int:
        """Return when the record there was stored; -1 if it is not (or no longer) in the log.

        Source: store/CommitLog.java#pickupStoreTimestamp (4.9.7)
        """
        record = self.read(offset, size_bytes)
        if record is None or len(record) < RECORD_LEAST_BYTES:
            return -1
        return record_store_timestamp_ms(record)

    def delete_before(self, offset: int) -> int:
        """Delete the files wholly before ``offset``, but never the last; return how many."""
        return self._queue.delete_before(offset)
