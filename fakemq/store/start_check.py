"""The check of a start: finds damage that no stopped or killed broker leaves, as `dump --check`.

A start reads the last files of the log anyway; here their records are compared with the entries of
the queues, some hundred at a time. Of earlier files it reads some (`EARLIER_RECORDS`). No checksum
covers the fields of a record, so each is any number, and each loop here has a budget.
Nothing is changed. Java does not look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.protocol.message import MESSAGE_MAGIC_CODE, record_struct
from fakemq.protocol.topics import is_system_topic
from fakemq.store.consumequeue import BLANK_SIZE, UNIT_BYTES
from fakemq.store.findings import (
    NO_TOPIC,
    OWN_TOPICS,
    Finding,
    entry_error,
    few,
    is_in_config,
    no_entry,
    no_queue,
    place_text,
    wrong_place,
)
from fakemq.store.light_queues import LightRule
from fakemq.store.queue_folders import FOLDER as QUEUES
from fakemq.store.record_scan import read_range
from fakemq.store.store import KEPT_TOPICS

if TYPE_CHECKING:
    from fakemq.store.consumequeue import ConsumeQueue
    from fakemq.store.files import File
    from fakemq.store.findings import Topics
    from fakemq.store.record_scan import QueueRun, RecordRange
    from fakemq.store.store import MessageStore

EARLIER_BYTES = 64 << 20
"""How much of the log before the files of the recovery is read, and not more records than
`EARLIER_RECORDS`."""
EARLIER_RECORDS = 50_000
"""They take about 0.2 s."""
LOOKED_AT_OF_QUEUE = 5_000
"""How many doubtful entries of a queue are looked at one by one, and how many unclaimed ones."""
LOOKED_AT = 100_000
"""How many entries are looked at one by one in all."""
LINES_A_FILE = 3
"""The most findings of one file that are reported; the others are counted."""
_PLACE = record_struct("magic_code", "physical_offset")
_PIECE_BYTES = 256 * UNIT_BYTES
_Key = tuple[str, int]
_Entry = tuple[int, int, int]
_T = TypeVar("_T")
PARTIAL = "more may be damaged, only a part was looked at; python -m fakemq dump --check reads all"


class StartCheck:
    """The check of one start. `see` the records in the order of the log, then ask for `findings`.

    ``topics`` are those of the broker; None leaves out what needs them.
    """

    def __init__(self, store: MessageStore, topics: Topics | None) -> None:
        self._store = store
        self._log = store.log
        self._queues = store.queues
        self._topics = topics
        self._begin = 0
        """The physical offset from which on records are seen."""
        self._seen: dict[_Key, range] = {}
        """The queue offsets of the records that were seen."""
        self._doubtful: list[tuple[_Key, int, bytes]] = []
        """Entries that differed from the queue's, with the offset of the first."""
        self._unclaimed: list[tuple[_Key, int, int]] = []
        """Ranges of queue offsets for which no record was seen."""
        self._kept: Counter[_Key] = Counter()
        """How many doubtful entries of a queue, and unclaimed ranges, are kept."""
        self._left = LOOKED_AT
        self._is_partial = False
        """Whether a budget ended the check."""
        self._found: list[Finding] = []

    # -- the log ------------------------------------------------------------------------------

    def see_files(self) -> None:
        """Look at the first record of each file: a copy of another file has its records."""
        for first, file in self._log.files:
            if len(file.view) < _PLACE.size:
                continue
            magic_code, said_offset = _PLACE.unpack_from(file.view)
            if magic_code == MESSAGE_MAGIC_CODE and said_offset != first:
                self._found.append(Finding(file.path, 0, wrong_place(first, said_offset)))

    def pass_over(self, phy_offset: int) -> None:
        """Leave out the records before a physical offset; they are known to be good."""
        self._begin = phy_offset

    def read_before(self, index: int) -> None:
        """See the records of the files before one, up to `EARLIER_BYTES` and `EARLIER_RECORDS`."""
        files, config = self._log.files, self._store.config
        begin, bytes_left, records_left = index, EARLIER_BYTES, EARLIER_RECORDS
        while begin:
            file = files[begin - 1][1]
            bytes_left -= file.size_bytes
            if bytes_left < 0:
                break
            records_left -= _count_records(file, records_left + 1)
            if records_left < 0:
                break
            begin -= 1
        self._begin = files[begin][0]
        for first, file in files[begin:index]:
            view, at, stop = file.view, 0, None  # as far as the file was written
            while stop is None:
                records = read_range(
                    *(view, at, len(view), self._store.delay_levels),
                    first_offset=first,
                    check_crc=config.check_crc_on_recover,
                    light=LightRule.of(config),
                )
                self.see(records)
                at, stop = records.at, records.stop
            if not stop.blank:
                self._found.append(Finding(file.path, at, f"no record: {stop.why}"))

    def see(self, records: RecordRange) -> None:
        """Take the next records of the log."""
        for run in records.runs:
            if not run.queued:
                continue
            key = run.topic, run.queue_id
            seen = self._seen.get(key)
            if seen is None:
                self._seen[key] = range(run.first, run.next)
            elif run.first <= seen.stop:  # if less, the topic was deleted, and made again
                first = seen.start if run.first == seen.stop else run.first
                self._seen[key] = range(first, run.next)
            else:
                if self._keep(key, 1):
                    self._unclaimed.append((key, seen.stop, run.first))
                self._seen[key] = range(seen.start, run.next)
            self._compare(key, run)

    def _compare(self, key: _Key, run: QueueRun) -> None:
        """Compare the entries with the queue's; look again later at those that differ."""
        queue, first, entries = self._queues.find(*key), run.first, run.units
        if queue is not None and _has(queue, first, entries):
            return
        for at in range(0, len(entries), _PIECE_BYTES):
            piece, offset = entries[at : at + _PIECE_BYTES], first + at // UNIT_BYTES
            is_doubtful = queue is None or not _has(queue, offset, piece)
            if is_doubtful and self._keep(key, len(piece) // UNIT_BYTES):
                self._doubtful.append((key, offset, bytes(piece)))

    def _keep(self, key: _Key, count: int) -> bool:
        """Return whether so much more of a queue may be kept, to be looked at later."""
        if self._kept[key] >= LOOKED_AT_OF_QUEUE:
            self._is_partial = True
            return False
        self._kept[key] += count
        return True

    # -- what is wrong ------------------------------------------------------------------------

    def findings(self) -> Iterator[Finding]:
        """Return the defects; call this once, after the recovery."""
        self._find_unclaimed()
        count = 0
        for findings in self._found, self._wrong():
            for finding in few(findings, LINES_A_FILE):
                count += 1
                yield finding
        if count and self._is_partial:
            yield Finding(QUEUES, 0, PARTIAL)

    def _find_unclaimed(self) -> None:
        """Find entries at the begin and at the end of each queue for which no record was seen."""
        for queue in self._queues:
            key = queue.topic, queue.queue_id
            seen = self._seen.get(key)
            last = queue.max_offset
            if seen is not None:
                self._unclaimed.append((key, seen.stop, last))
                last = seen.start
            first = last
            while (
                last - first < LOOKED_AT_OF_QUEUE
                and (unit := queue.unit_at(first - 1))
                and self._is_in_range(unit)
            ):
                first -= 1
            self._unclaimed.append((key, first, last))

    def _is_in_range(self, unit: _Entry) -> bool:
        return unit[0] >= self._begin and unit[1] != BLANK_SIZE

    def _wrong(self) -> Iterator[Finding]:
        """Yield what is wrong with the doubtful and the unclaimed entries."""
        for key, first, entries in self._doubtful:
            queue = self._queues.find(*key)
            wanted = self._limited(enumerate(UNIT.iter_unpack(entries), first))
            if queue is None:
                yield from self._without_queue(key, wanted)
            else:
                for offset, entry in wanted:
                    yield from self._doubted(queue, offset, entry)
        for key, first, behind in self._unclaimed:
            queue = self._queues.find(*key)
            if queue is None:
                continue
            first = max(first, queue.min_offset)
            offsets = range(first, min(behind, queue.max_offset))
            self._is_partial |= len(offsets) > LOOKED_AT_OF_QUEUE
            for offset in self._limited(offsets[:LOOKED_AT_OF_QUEUE]):
                unit = queue.unit_at(offset)
                if unit and unit[1] != BLANK_SIZE:
                    yield from self._wrong_entry(queue, offset, unit)
        yield from self._without_topic()

    def _limited(self, entries: Iterable[_T]) -> Iterator[_T]:
        """Yield what is to be looked at, as long as the budget of this start lasts."""
        for entry in entries:
            if not self._left:
                self._is_partial = True
                return
            self._left -= 1
            yield entry

    def _doubted(self, queue: ConsumeQueue, offset: int, entry: _Entry) -> Iterator[Finding]:
        """Yield what is wrong with the entry at an offset, where ``entry`` is a record's."""
        unit = queue.unit_at(offset)
        if unit == entry:
            return
        if unit is not None and unit[1]:
            yield from self._wrong_entry(queue, offset, unit)
            return
        first = queue.unit_at(queue.min_offset)
        # A queue that was deleted, and made again, begins at 0.
        if first is None or entry[0] >= first[0] or queue.min_offset:
            yield self._in_log(entry, no_entry(place_text(queue.topic, queue.queue_id, offset)))

    def _wrong_entry(self, queue: ConsumeQueue, offset: int, unit: _Entry) -> Iterator[Finding]:
        phy_offset, size_bytes, code = unit
        tags_code = queue.tags_code_of(code)
        entry = phy_offset, size_bytes, code if tags_code is None else tags_code
        message = self._store.look_message_by_offset(phy_offset)
        text = entry_error(queue.topic, queue.queue_id, offset, entry, message)
        place = queue.place_of(offset)
        if text and place is not None and phy_offset >= self._log.min_offset:
            file, position = place
            yield Finding(file.path, position, text)

    def _without_queue(self, key: _Key, wanted: Iterable[tuple[int, _Entry]]) -> Iterator[Finding]:
        """Yield the records whose queue is gone although its topic was not deleted meanwhile."""
        topic, queue_id = key
        topics = self._topics
        if topics is None or not (topic in topics.names or topic in OWN_TOPICS):
            return
        # No peer may delete a system topic, and a clean-up leaves one that has a config.
        stays = topic in KEPT_TOPICS or (topic in topics.names and is_system_topic(topic))
        firsts = [
            unit
            for other in self._queues.ids(topic)
            if (queue := self._queues.find(topic, other))
            and (unit := queue.unit_at(queue.min_offset))
        ]
        for offset, entry in wanted:
            older = any(unit[0] < entry[0] for unit in firsts)
            stored_ms = self._log.store_timestamp_ms(entry[0], entry[1])
            if older or stays or stored_ms >= topics.changed_ms:
                yield self._in_log(entry, no_queue(place_text(topic, queue_id, offset)))

    def _in_log(self, entry: _Entry, text: str) -> Finding:
        place = self._log.find_file(entry[0])
        assert place is not None
        file, first = place
        return Finding(file.path, entry[0] - first, text)

    def _without_topic(self) -> Iterator[Finding]:
        """Yield the topics with queues that the broker does not have; a slave may keep such."""
        if self._topics is not None and not self._store.role.is_slave:
            for topic in sorted(self._queues.topics() - self._topics.names):
                if is_in_config(topic):
                    yield Finding(f"{QUEUES}/{topic}", 0, NO_TOPIC)


def _has(queue: ConsumeQueue, first: int, entries: bytearray) -> bool:
    """Return whether a queue has these entries from an offset on."""
    at = 0
    while at < len(entries):
        units = queue.units_from(first + at // UNIT_BYTES)
        part = units and queue.with_tags_codes(bytes(units[: len(entries) - at]))
        if not part or part != entries[at : at + len(part)]:
            return False
        at += len(part)
    return True


def _count_records(file: File, at_most: int) -> int:
    """Return how many records a log file has by their sizes, or ``at_most``."""
    view, at = file.view, 0
    for count in range(at_most):
        size_bytes = int.from_bytes(view[at : at + 4], signed=True)
        if size_bytes <= 0:
            return count
        at += size_bytes
    return at_most
