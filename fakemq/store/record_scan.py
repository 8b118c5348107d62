"""Reads many records of a log file in one pass: for a start, and for a slave.

There are two cases: 1. Usual records, nearly all there are, are read in one loop that calls no
Python function. 2. Anything else is read again by `check_record`, which finds what is wrong.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.java import CRC32_MASK, LONG_MAX
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT, RECORD_HEAD, RECORD_LEAST_BYTES
from fakemq.protocol.message import (
    MESSAGE_MAGIC_CODE,
    TOPIC_MAX_BYTES,
    RecordStatus,
    check_record,
    record_size_bytes,
    record_struct,
    tags_code,
)
from fakemq.protocol.properties import (
    INNER_MULTI_DISPATCH,
    PROPERTY_SEPARATOR,
    TAGS,
    decode_properties,
)
from fakemq.protocol.sysflag import UNQUEUED, MessageSysFlag
from fakemq.protocol.topics import SCHEDULE_TOPIC
from fakemq.store.light_queues import NO_LIGHT_QUEUES, LightEntry, LightRule

if TYPE_CHECKING:
    from fakemq.store.delay_detour import DelayLevels

SECTOR_BYTES = 512
"""A disk writes this number of bytes completely or not at all."""
_RANGE_BYTES = 1 << 19
"""How much is read at once: it stays in the processor's cache meanwhile."""
_USUAL_HEAD = record_struct(
    "total_size",
    "magic_code",
    "body_crc",
    "queue_id",
    "queue_offset",
    "sys_flag",
    "store_timestamp",
    "body_bytes",
)
_UNUSUAL_FLAGS = (
    MessageSysFlag.BORNHOST_V6
    | MessageSysFlag.STOREHOSTADDRESS_V6
    | MessageSysFlag.TRANSACTION_PREPARED_TYPE  # also a bit of TRANSACTION_ROLLBACK_TYPE
)
_SCHEDULE = SCHEDULE_TOPIC.encode()
_NAMED_QUEUES = INNER_MULTI_DISPATCH.encode()
_TAGS = TAGS.encode() + b"\x01"
_SEPARATOR = ord(PROPERTY_SEPARATOR)
_HEAD_BYTES = _USUAL_HEAD.size
_unpack_head = _USUAL_HEAD.unpack_from
_pack_unit = CONSUME_QUEUE_UNIT.pack


class ScanEnd(NamedTuple):
    """No record: the blank at a file's end, or the reason why the bytes are no good record."""

    blank: bool
    why: str


ARRIVING = ScanEnd(False, "")
"""No complete record: the rest of one is about to arrive."""


class QueueRun:
    """Records of one queue with successive queue offsets, the first of them ``first``.

    ``units`` are their entries, as the queue has them; ``stored_ms`` is the store time of the last.
    """

    __slots__ = ("first", "light", "next", "queue_id", "queued", "stored_ms", "topic", "units")

    def __init__(self, topic: str, queue_id: int, first: int, queued: bool = True) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.first = self.next = first
        self.queued = queued
        """Whether they are added to a queue: prepared and rolled-back transactions are not."""
        self.light = False
        """Whether they are in this queue because they name it, beside their own."""
        self.stored_ms = 0
        self.units = bytearray()


class RecordRange:
    """Good records that follow one another in a file, from the position ``begin`` up to ``at``.

    ``runs`` has them by queue, those of one queue in their order. ``stop`` is the reason why none
    follows; None if more may follow.
    """

    __slots__ = (
        *("_by_queue", "_light_by_queue", "at", "begin", "newest_ms", "oldest_ms", "runs"),
        "stop",
    )

    def __init__(self, begin: int) -> None:
        # Keys of usual topics are bytes, so that `read_usual` finds no other run.
        self._by_queue: dict[tuple[bytes | str, int], QueueRun] = {}
        self._light_by_queue: dict[tuple[bytes | str, int], QueueRun] = {}
        self.begin = self.at = begin
        self.runs: list[QueueRun] = []
        self.stop: ScanEnd | None = None
        self.oldest_ms = LONG_MAX
        """The earliest of their store times."""
        self.newest_ms = 0
        """The store time of the last of them."""

    def read_usual(
        self,
        data: bytes,
        start: int,
        first_offset: int,
        check_crc: bool,
        check_torn: bool,
        look_for_light: bool,
    ) -> None:
        """Take the next records as long as they are usual: of IPv4 hosts, queued, not delayed.

        With ``look_for_light`` records that name further queues are no usual ones.
        ``data`` are the file's bytes from the position ``start`` on.
        """
        unpack, pack, crc32, find = _unpack_head, _pack_unit, zlib.crc32, data.find
        by_queue = self._by_queue
        at, end = self.at - start, len(data)
        first_offset += start
        newest_ms, oldest_ms = self.newest_ms, self.oldest_ms
        while at + RECORD_LEAST_BYTES <= end:
            size_bytes, magic, crc, queue_id, queue_offset, sys_flag, stored_ms, body_bytes = (
                unpack(data, at)
            )
            stop = at + size_bytes
            body = at + _HEAD_BYTES
            topic = body + body_bytes + 1
            if (
                magic != MESSAGE_MAGIC_CODE
                or sys_flag & _UNUSUAL_FLAGS
                or body_bytes < 0
                or stop > end
                or topic + 2 > stop
            ):
                break
            topic_end = topic + data[topic - 1]
            properties = topic_end + 2
            if (
                properties > stop
                or properties + (data[topic_end] << 8 | data[topic_end + 1]) != stop
                or (check_crc and body_bytes and crc32(data[body : topic - 1]) & CRC32_MASK != crc)
                or (check_torn and find(0, properties, stop) >= 0)
                or (look_for_light and find(_NAMED_QUEUES, properties, stop) >= 0)
            ):
                break
            name = data[topic:topic_end]
            run = by_queue.get((name, queue_id))
            if run is None or run.next != queue_offset:
                text = _usual_topic(name)
                if text is None:
                    break
                run = QueueRun(text, queue_id, queue_offset)
                by_queue[name, queue_id] = run
                self.runs.append(run)
            tags = find(_TAGS, properties, stop)
            code = 0 if tags < 0 else _tags_code(data, tags, properties, stop)
            run.units += pack(first_offset + at, size_bytes, code)
            run.next = queue_offset + 1
            run.stored_ms = newest_ms = stored_ms
            if stored_ms < oldest_ms:
                oldest_ms = stored_ms
            at = stop
        self.at = start + at
        self.newest_ms, self.oldest_ms = newest_ms, oldest_ms

    def read_any(
        self,
        view: memoryview,
        end: int,
        delay_levels: DelayLevels,
        first_offset: int,
        check_crc: bool,
        check_torn: bool,
        light: LightRule,
    ) -> None:
        """Take the next record, whatever it is like; set ``stop`` if none is there."""
        at = self.at
        check = check_record(view[:end], at, check_crc=check_crc)
        message = check.message
        if message is None:
            self.stop = ScanEnd(check.status is RecordStatus.BLANK, check.reason)
            return
        stored_ms = message.store_timestamp_ms
        try:
            code = delay_levels.queue_code(message.topic, message.properties, stored_ms)
        except NumberFormatError as error:
            self.stop = ScanEnd(False, str(error))
            return
        if check_torn:
            topic = at + record_size_bytes(message.sys_flag, len(message.body), 0, 0) - 2
            properties = topic + view[topic - 1] + 2
            if _is_torn(view, topic, properties - 2) or _is_torn(
                view, properties, at + check.size_bytes
            ):
                self.stop = ScanEnd(False, "topic or properties were never written")
                return
        queued = message.sys_flag & MessageSysFlag.TRANSACTION_MASK not in UNQUEUED
        key = _key(message.topic, message.queue_id)
        run = self._by_queue.get(key) if queued else None
        if run is None or run.next != message.queue_offset:
            run = QueueRun(message.topic, message.queue_id, message.queue_offset, queued)
            self.runs.append(run)
            if queued:
                self._by_queue[key] = run
        unit = _pack_unit(first_offset + at, check.size_bytes, code)
        run.units += unit
        run.next += 1
        run.stored_ms = self.newest_ms = stored_ms
        if queued:
            for entry in light.entries(message.properties, message.topic, message.queue_id):
                self._add_light(entry, unit, stored_ms)
        self.oldest_ms = min(self.oldest_ms, stored_ms)
        self.at = at + check.size_bytes

    def _add_light(self, entry: LightEntry, unit: bytes, stored_ms: int) -> None:
        key = _key(entry.topic, entry.queue_id)
        # After a run of records that are in the queue as their own, another one begins.
        own = self._by_queue.pop(key, None)
        run = self._light_by_queue.get(key) if own is None else None
        if run is None or run.next != entry.queue_offset:
            run = self._light_by_queue[key] = QueueRun(*entry)
            run.light = True
            self.runs.append(run)
        run.units += unit
        run.next += 1
        run.stored_ms = stored_ms


def _key(topic: str, queue_id: int) -> tuple[bytes | str, int]:
    name = topic.encode()
    return topic if _usual_topic(name) is None else name, queue_id


def read_range(
    view: memoryview,
    at: int,
    end: int,
    delay_levels: DelayLevels,
    *,
    first_offset: int,
    check_crc: bool,
    check_torn: bool = False,
    file_bytes: int | None = None,
    light: LightRule = NO_LIGHT_QUEUES,
) -> RecordRange:
    """Return records of a log file from the position ``at`` on, about `_RANGE_BYTES` of them.

    ``end`` is the position where the file's data end, ``first_offset`` the physical offset of its
    first byte. ``check_crc`` compares each body with its checksum, as Java does. ``check_torn``
    finds what Java does not: a crash may have kept the first sectors of a record and lost the
    others. No checksum covers topic and properties, which Java would deliver as zeros.
    With ``file_bytes``, the size of the file, a record that goes beyond ``end`` is `ARRIVING`.
    ``light`` says which further queues the records are in.
    """
    found = RecordRange(at)
    start, data = at, bytes(view[at : min(end, at + _RANGE_BYTES)])
    data_end = start + len(data)
    while True:
        found.read_usual(data, start, first_offset, check_crc, check_torn, light.multi_dispatch)
        at = found.at
        head = bytes(view[at : min(at + RECORD_HEAD.size, end)])
        size_bytes = int.from_bytes(head[:4], signed=True)
        if at > start and data_end < end and (len(head) < 4 or at + size_bytes > data_end):
            return found  # the next range begins with it
        if file_bytes is not None and (
            len(head) < RECORD_HEAD.size or end < at + size_bytes <= file_bytes
        ):
            found.stop = ARRIVING
            return found
        found.read_any(view, end, delay_levels, first_offset, check_crc, check_torn, light)
        if found.stop is not None or found.at >= data_end < end:
            return found


@lru_cache(maxsize=4096)
def _usual_topic(name: bytes) -> str | None:
    """Return the text of a topic; None if its records are no usual ones."""
    if len(name) > TOPIC_MAX_BYTES or name == _SCHEDULE or 0 in name:
        return None
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None


def _tags_code(data: bytes, at: int, start: int, stop: int) -> int:
    """Return the code of the tags in properties whose first name of them is at ``at``."""
    behind = at + len(_TAGS)
    if data.find(_TAGS, behind, stop) < 0 and (at == start or data[at - 1] == _SEPARATOR):
        end = data.find(_SEPARATOR, behind, stop)
        return _code(data[behind : stop if end < 0 else end])
    return tags_code(decode_properties(data[start:stop].decode("utf-8", "replace")).get(TAGS))


@lru_cache(maxsize=4096)
def _code(tags: bytes) -> int:
    return tags_code(tags.decode("utf-8", "replace"))


def _is_torn(view: memoryview, start: int, stop: int) -> bool:
    """Return whether one sector of the range, or its part in the range, is all zeros."""
    while start < stop:
        edge = start - start % SECTOR_BYTES + SECTOR_BYTES
        if not view[start] and not any(view[start : min(edge, stop)]):
            return True
        start = edge
    return False
