"""Consume queues: for each queue of a topic, where its messages are in the commit log.

An entry has 20 bytes: physical offset, size, tags code.
Source: store/ConsumeQueue.java, store/DefaultMessageStore.java (4.9.7)
"""

# Over 400 lines: one queue with its files, and the table of a store's queues.

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Final, TypeAlias

from fakemq.errors import StoreError
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.protocol.message import LEAST_TAGS_CODE
from fakemq.protocol.topics import LMQ_PREFIX
from fakemq.store.mapped_file_queue import Cut, MappedFileQueue
from fakemq.store.queue_folders import FOLDER, NoQueueError, queue_folder, queue_id_of

if TYPE_CHECKING:
    from fakemq.store.commitlog import CommitLog
    from fakemq.store.files import File, Files

UNIT_BYTES: Final = UNIT.size
BLANK_SIZE: Final = 0x7FFFFFFF
_SIZE_AT: Final = 8
"""Where in an entry the size of its record is, in 4 bytes."""
_INT64_MAX: Final = (1 << 63) - 1
_PRE_BLANK: Final = UNIT.pack(0, BLANK_SIZE, 0)
_pack_unit: Final = UNIT.pack
_unpack_unit: Final = UNIT.unpack_from


class ConsumeQueue:
    """The entries of one queue. Offsets are queue offsets: 0, 1, 2, …

    Raise NoQueueError for a topic or a queue id that no store can have.
    """

    __slots__ = ("_min_logic_offset", "_queue", "max_physic_offset", "queue_id", "topic")

    def __init__(self, topic: str, queue_id: int, files: Files, file_size_bytes: int) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.max_physic_offset = -1
        self._min_logic_offset = 0
        folder = queue_folder(topic, queue_id)
        self._queue = MappedFileQueue(files, folder, file_size_bytes, grows=True)

    @property
    def folder(self) -> str:
        """The folder of its files, relative to that of the store."""
        return self._queue.folder

    @property
    def max_offset(self) -> int:
        """The offset of the next entry."""
        return self._queue.max_offset // UNIT_BYTES

    @property
    def min_offset(self) -> int:
        """The offset of the first entry whose record may not be deleted yet."""
        return self._min_logic_offset // UNIT_BYTES

    def append(
        self,
        phy_offset: int,
        size_bytes: int,
        tags_code: int,
        queue_offset: int,
        now_ms: int,
        *,
        light: bool = False,
    ) -> None:
        """Add the entry of a record, unless the queue has it already.

        ``phy_offset`` is in bytes of the log, ``queue_offset`` counts entries. ``light`` says that
        the queue is not the record's own, but another one that the record names. Raise NoQueueError
        if a queue cannot begin at that offset, which only a damaged record has.

        Source: store/ConsumeQueue.java#putMessagePositionInfo (4.9.7)
        """
        if phy_offset + size_bytes <= self.max_physic_offset:
            return
        queue = self._queue
        logic_offset = queue_offset * UNIT_BYTES
        last = queue.last
        if last is None or last.position == queue.file_size_bytes:
            first_in_queue = last is None
            if first_in_queue and not 0 <= logic_offset <= _INT64_MAX - queue.file_size_bytes:
                raise NoQueueError(f"no queue begins at offset {queue_offset}")
            last = queue.add_file(logic_offset, now_ms)
            if first_in_queue and queue_offset:
                blanks = (logic_offset - queue.last_offset) // UNIT_BYTES
                try:
                    last.append(_PRE_BLANK * blanks, now_ms)
                except StoreError:
                    queue.drop_last()  # without its blanks it would have a wrong offset
                    raise
                self._min_logic_offset = logic_offset
        if queue_offset and logic_offset < queue.last_offset + last.position:
            return
        if not light:
            tags_code = self._extended_code(tags_code, phy_offset, now_ms)
        last.append(_pack_unit(phy_offset, size_bytes, tags_code), now_ms)
        self.max_physic_offset = phy_offset + size_bytes

    def _extended_code(self, tags_code: int, phy_offset: int, now_ms: int) -> int:
        """Return what the entry of a record has as its tags code: here, the tags code."""
        return tags_code

    def append_next(
        self, queue_offset: int, units: bytes, phy_offset: int, end_offset: int, now_ms: int
    ) -> bool:
        """Add the entries of a put if they continue the queue in its last file, as most do.

        Return whether they do. Their records are in the log from ``phy_offset`` to ``end_offset``.
        """
        queue = self._queue
        last = queue.last
        if (
            last is None
            or queue.last_offset + last.position != queue_offset * UNIT_BYTES
            or last.position + len(units) > queue.file_size_bytes
            or phy_offset < self.max_physic_offset
        ):
            return False
        last.append(units, now_ms)
        self.max_physic_offset = end_offset
        return True

    def append_units(
        self,
        queue_offset: int,
        units: bytearray,
        stored_ms: int,
        log: CommitLog,
        *,
        light: bool = False,
    ) -> None:
        """Add the entries of records with successive queue offsets, as `append` does each.

        The last of them was stored at ``stored_ms``; ``log`` has the times of the others.
        ``light`` is as for `append`.
        """
        queue, at, end = self._queue, 0, len(units)
        while at < end:
            last = queue.last
            phy_offset, size_bytes, tags_code = _unpack_unit(units, at)
            if (
                last is not None
                and last.position < queue.file_size_bytes
                and queue.last_offset + last.position == queue_offset * UNIT_BYTES + at
                and phy_offset + size_bytes > self.max_physic_offset
            ):  # nearly always: the entries continue the queue
                stop = min(end, at + queue.file_size_bytes - last.position)
                phy_offset, size_bytes, _ = _unpack_unit(units, stop - UNIT_BYTES)
                if stop < end:
                    last_ms = log.store_timestamp_ms(phy_offset, size_bytes)
                    last.append(bytes(units[at:stop]), last_ms)
                else:
                    last.append(bytes(units[at:]), stored_ms)
                self.max_physic_offset = phy_offset + size_bytes
                at = stop
            else:
                last_ms = log.store_timestamp_ms(phy_offset, size_bytes)
                offset = queue_offset + at // UNIT_BYTES
                self.append(phy_offset, size_bytes, tags_code, offset, last_ms, light=light)
                at += UNIT_BYTES

    def load(self, now_ms: int) -> None:
        """Open the existing files."""
        self._queue.load(now_ms)

    def recover(self) -> list[Cut]:
        """Find where the entries end, in the last three files; cut off and return what follows.

        Source: store/ConsumeQueue.java#recover (4.9.7)
        """
        queue = self._queue
        if not queue.row:
            return []
        index = max(0, len(queue.row) - 3)
        while True:
            position = self._entries_end(queue.row[index], None)
            end = queue.first_offset_of(index) + position
            index += 1
            if position < queue.file_size_bytes or index == len(queue.row):
                return self._cut(end)

    def truncate(self, phy_offset: int) -> list[Cut]:
        """Drop the entries of records at or behind ``phy_offset``; return what was dropped.

        Source: store/ConsumeQueue.java#truncateDirtyLogicFiles (4.9.7)
        """
        queue = self._queue
        self.max_physic_offset = phy_offset
        cuts: list[Cut] = []
        while queue.last is not None:
            first, size_bytes, _ = _unpack_unit(queue.last.read(0, UNIT_BYTES))
            if first < phy_offset and size_bytes > 0:
                position = self._entries_end(queue.last, phy_offset)
                return cuts + self._cut(queue.last_offset + position)
            cut = queue.drop_last()
            if cut is not None:
                cuts.append(cut)
        return cuts

    def _cut(self, end: int) -> list[Cut]:
        """Cut the files off at a position.

        The size in the first entry there becomes 0 before the rest: if a kill took the physical
        offset alone, the entry would look like one of the first record of the log.
        """
        file, at = self._queue.find(end), end % self._queue.file_size_bytes + _SIZE_AT
        if file is not None and any(file.read(at, 4)):
            file.write_at(at, bytes(4), file.mtime_ms)
        return self._queue.truncate(end)

    def _entries_end(self, file: File, phy_offset: int | None) -> int:
        """Return the position in a file behind its last entry of a record.

        With ``phy_offset``, only entries of records before that offset count. Sets
        `max_physic_offset` to the end of the last record, if there is one.
        """
        from fakemq.store.entry_scan import entry_count  # only a start on files needs it

        behind = _INT64_MAX if phy_offset is None else phy_offset
        count = entry_count(file.view, behind)
        for number in range(count - 1, -1, -1):
            offset, size_bytes, _ = _unpack_unit(file.view, number * UNIT_BYTES)
            if size_bytes != BLANK_SIZE:
                self.max_physic_offset = offset + size_bytes
                break
        return count * UNIT_BYTES

    @property
    def last_file(self) -> File | None:
        """The file to which entries are appended."""
        return self._queue.last

    def units_from(self, offset: int) -> memoryview | None:
        """Return the entries from ``offset`` to the end of its file; None if there are none.

        Source: store/ConsumeQueue.java#getIndexBuffer (4.9.7)
        """
        logic_offset = offset * UNIT_BYTES
        if logic_offset < self._min_logic_offset:
            return None
        file = self._queue.find(logic_offset)
        if file is None:
            return None
        position = logic_offset % self._queue.file_size_bytes
        end = file.position
        if position >= end:
            return None
        view = file.view
        # A file that was found with its end missing is shown with zeros there, as in Java.
        return (
            view[position:end]
            if end <= len(view)
            else memoryview(file.read(position, end - position))
        )

    def unit_at(self, offset: int) -> tuple[int, int, int] | None:
        """Return physical offset, size and tags code of one entry."""
        units = self.units_from(offset)
        return None if units is None else _unpack_unit(units, 0)

    def tags_code_of(self, code: int) -> int | None:
        """Return the tags code for what an entry has as such.

        It may be the address of a unit in an extension of the queue; None if that is not found.
        """
        return code if code >= LEAST_TAGS_CODE else None

    def with_tags_codes(self, units: bytes) -> bytes:
        """Return entries with tags codes in place of addresses, as far as these are found."""
        return units

    def place_of(self, offset: int) -> tuple[File, int] | None:
        """Return the file of an entry and the position there; None if there is no such entry."""
        if self.units_from(offset) is None:
            return None
        file = self._queue.find(offset * UNIT_BYTES)
        return None if file is None else (file, offset * UNIT_BYTES % file.size_bytes)

    def next_file_offset(self, offset: int) -> int:
        """Return the offset of the first entry of the next file."""
        units = self._queue.file_size_bytes // UNIT_BYTES
        return offset + units - offset % units

    def offset_by_time(self, timestamp_ms: int, log: CommitLog) -> int:
        """Return the queue offset of the record stored nearest to a time; 0 for an empty queue.

        Only the file that the time belongs to is searched. There are four cases:
        1. Before the first record: the first. 2. After the last record: the last.
        3. Between two records: the nearer one. 4. Equally near to both: the earlier one.
        Source: store/ConsumeQueue.java#getOffsetInQueueByTime (4.9.7)
        """
        found = self._queue.find_by_time(timestamp_ms)
        if found is None or not found[0].position:
            return 0
        file, first = found
        min_phy_offset = log.min_offset
        low = max(0, self._min_logic_offset - first) // UNIT_BYTES
        high = file.position // UNIT_BYTES - 1
        left = right = -1
        left_ms = right_ms = -1
        while high >= low:
            middle = (low + high) // 2
            unit = file.read(middle * UNIT_BYTES, UNIT_BYTES)
            phy_offset, size_bytes, _ = _unpack_unit(unit)
            # Its record is deleted. `left_ms` stays unset: a deleted record is never the answer.
            if phy_offset < min_phy_offset:
                low = middle + 1
                left = middle
                continue
            stored_ms = log.store_timestamp_ms(phy_offset, size_bytes)
            if stored_ms < 0:
                return 0
            if stored_ms == timestamp_ms:
                return first // UNIT_BYTES + middle
            if stored_ms > timestamp_ms:
                high, right, right_ms = middle - 1, middle, stored_ms
            else:
                low, left, left_ms = middle + 1, middle, stored_ms
        # Case 1 first, as `left` may be a deleted record; then case 2, and cases 3 and 4 together.
        if left_ms == -1:
            target = right
        elif right_ms == -1 or timestamp_ms - left_ms <= right_ms - timestamp_ms:
            target = left
        else:
            target = right
        return max(0, first // UNIT_BYTES + target)

    def boundary_by_time(self, timestamp_ms: int, log: CommitLog, *, upper: bool) -> int:
        """Return the queue offset of the first record stored at or after a time.

        With ``upper`` it is that of the last record stored at or before the time. Without such a
        record it is the end of the queue, or its begin.
        Source: store/ConsumeQueue.java#binarySearchInQueueByTime,
        store/queue/ConsumeQueueStore.java#getOffsetInQueueByTime (5.5.0)
        """
        low, high = self.min_offset, self.max_offset
        while low < high:
            middle = (low + high) // 2
            unit = self.unit_at(middle)
            assert unit is not None, f"no entry {middle} in a queue of [{low}, {high})"
            phy_offset, size_bytes, _ = unit
            is_before = phy_offset < log.min_offset  # its record is deleted
            if not is_before:
                stored_ms = log.store_timestamp_ms(phy_offset, size_bytes)
                if stored_ms < 0:
                    return self.min_offset
                is_before = stored_ms <= timestamp_ms if upper else stored_ms < timestamp_ms
            if is_before:
                low = middle + 1
            else:
                high = middle
        return max(self.min_offset, low - 1) if upper else low

    def delete_expired_files(self, min_phy_offset: int) -> None:
        """Delete files whose records are all deleted, but never the last; correct the minimum.

        Source: store/MappedFileQueue.java#deleteExpiredFileByOffset (4.9.7)
        """
        queue = self._queue
        size_bytes = queue.file_size_bytes
        while len(queue.row) > 1:
            last_unit = queue.row[0].read(size_bytes - UNIT_BYTES, UNIT_BYTES)
            last_phy_offset, _, _ = _unpack_unit(last_unit)
            if last_phy_offset >= min_phy_offset:
                break
            queue.delete_before(queue.min_offset + size_bytes)
        self.correct_min_offset(min_phy_offset)

    def correct_min_offset(self, min_phy_offset: int) -> None:
        """Move the minimum past the entries of the first file whose records are deleted.

        Source: store/ConsumeQueue.java#correctMinOffset (4.9.7)
        """
        if not self._queue.row:
            return
        file = self._queue.row[0]
        for index, (phy_offset, _, _) in enumerate(_units(file.view[: file.position])):
            if phy_offset >= min_phy_offset:
                self._min_logic_offset = self._queue.min_offset + index * UNIT_BYTES
                return

    def destroy(self) -> None:
        """Delete the files."""
        self.max_physic_offset = -1
        self._min_logic_offset = 0
        self._queue.destroy()

    def __repr__(self) -> str:
        return f"<queue {self.topic}:{self.queue_id} [{self.min_offset}, {self.max_offset})>"


MakeQueue: TypeAlias = Callable[[str, int, "Files", int], ConsumeQueue]
"""Called with topic, queue id, the files of the store, and the size of a file in bytes."""
_NONE: Final[Mapping[int, ConsumeQueue]] = {}


class ConsumeQueues:
    """Consume queues by topic and queue id, made by their first message."""

    def __init__(self, files: Files, file_size_bytes: int, make: MakeQueue = ConsumeQueue) -> None:
        self._files = files
        self._make = make
        # Java rounds up to whole entries.
        self._file_size_bytes = -(-file_size_bytes // UNIT_BYTES) * UNIT_BYTES
        self._table: dict[str, dict[int, ConsumeQueue]] = {}
        self._gone: dict[tuple[str, int], ConsumeQueue] = {}
        """Deleted queues whose files are still there."""
        self.light_count = 0
        """As Java counts light queues: see `ask_for_light`."""
        self._light_asked: set[tuple[str, int]] = set()

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """Return the queue; None if no message was ever put into it."""
        return self._table.get(topic, _NONE).get(queue_id)

    def find_or_make(self, topic: str, queue_id: int) -> ConsumeQueue:
        """Return the queue; make it if needed. Raise NoQueueError if no store can have it."""
        queue = self._table.get(topic, _NONE).get(queue_id)
        if queue is None:
            gone = self._gone.get((topic, queue_id))
            if gone is not None:  # the new queue begins with files of the same names
                gone.destroy()
                del self._gone[topic, queue_id]
            queue = self._make(topic, queue_id, self._files, self._file_size_bytes)
            if topic.startswith(LMQ_PREFIX):
                self.ask_for_light(topic, queue_id)
                self._light_asked.discard((topic, queue_id))
            self._table.setdefault(topic, {})[queue_id] = queue
        return queue

    def ask_for_light(self, topic: str, queue_id: int) -> None:
        """Count a light queue that is asked for: Java makes it, without a file.

        Source: store/DefaultMessageStore.java#findConsumeQueue (4.9.7)
        """
        key = topic, queue_id
        if key not in self._light_asked and self.find(topic, queue_id) is None:
            self._light_asked.add(key)
            self.light_count += 1

    def forget_light(self, topic: str) -> None:
        """Count a light topic that is deleted, if it is there.

        Source: store/DefaultMessageStore.java#cleanUnusedLmqTopic (4.9.7)
        """
        asked = {key for key in self._light_asked if key[0] == topic}
        if asked or topic in self._table:
            self._light_asked -= asked
            self.light_count -= 1

    def load(self, now_ms: int) -> None:
        """Open the existing queues. Source: DefaultMessageStore.java#loadConsumeQueue (4.9.7)"""
        paths = (path.split("/") for path in self._files.list(FOLDER))
        found = {(path[1], path[2]) for path in paths if len(path) > 3}
        for topic, name in sorted(found):
            queue_id = queue_id_of(name)
            if queue_id is None:
                continue
            try:
                queue = self.find_or_make(topic, queue_id)
            except NoQueueError as error:
                where = self._files.path_of(f"{FOLDER}/{topic}")
                raise StoreError(f"{where}: {error}; move it away") from None
            queue.load(now_ms)

    def topics(self) -> Set[str]:
        """Return the topics that have queues, as a view that follows later changes."""
        return self._table.keys()

    def ids(self, topic: str) -> list[int]:
        """Return the queue ids of a topic's queues, ascending."""
        return sorted(self._table.get(topic, _NONE))

    def delete_one(self, topic: str, queue_id: int) -> None:
        """Delete one queue, and its topic if that has no other; its files stay for now."""
        queues = self._table[topic]
        self._gone[topic, queue_id] = queues.pop(queue_id)
        if not queues:
            del self._table[topic]

    def delete(self, topic: str) -> list[int]:
        """Delete the queues of a topic, and return their ids; their files stay for now."""
        queues = self._table.pop(topic, _NONE)
        self._gone |= {(topic, queue_id): queue for queue_id, queue in queues.items()}
        return sorted(queues)

    @property
    def has_files_to_delete(self) -> bool:
        """Whether deleted queues still have files."""
        return bool(self._gone)

    def delete_files_of_one(self) -> None:
        """Delete the files of one deleted queue; raise StoreError if the disk refuses."""
        _, queue = self._gone.popitem()
        queue.destroy()

    def __iter__(self) -> Iterator[ConsumeQueue]:
        return iter([queue for queues in self._table.values() for queue in queues.values()])


def _units(view: memoryview) -> Iterator[tuple[int, int, int]]:
    """Yield the complete entries of a view."""
    # A file in memory grows by steps that are no multiple of an entry.
    return UNIT.iter_unpack(view[: len(view) - len(view) % UNIT_BYTES])
