"""The view ``consumequeue``: the entries of the queues, and whether their records exist."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import InputPartition

from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT_FIELDS, RECORD_LEAST_BYTES
from fakemq.protocol.message import LEAST_TAGS_CODE, MESSAGE_MAGIC_CODE
from fakemq.protocol.topics import LMQ_PREFIX
from fakemq.spark.records.message_columns import int_column
from fakemq.spark.records.record_table import RecordTable
from fakemq.spark.records.slices import Ints, fields_dtype
from fakemq.spark.stores.damage import Damage, damage_batches, gone, is_gone
from fakemq.store.queue_folders import EXTENSION_FOLDER, queue_folder
from fakemq.store.stored_entries import PRE_BLANK, UNIT_BYTES, tags_code_of
from fakemq.store.stored_file import OpenFiles, StoredFile
from fakemq.store.stored_node import FileRow

if TYPE_CHECKING:
    from fakemq.spark.stores.options import StoreOptions
    from fakemq.store.stored_node import StoredNode

_BATCH_ROWS = 10_000
_LOG_BYTES = 16 << 20
"""About how many bytes of the commit log are looked at together."""
_GAP_BYTES = 4096
"""A shorter gap between two records costs less to read than another call."""
_OPEN_COST_BYTES = 4 << 20
"""The default of ``spark.sql.files.openCostInBytes``: small files share a part."""
_UNIT = fields_dtype(CONSUME_QUEUE_UNIT_FIELDS)
_PRE_BLANK = np.frombuffer(PRE_BLANK, _UNIT)[0]

Flags = npt.NDArray[np.bool_]


@dataclass
class QueueFile:
    """One file of a consume queue, with its place for error messages."""

    path: str
    log_folders: tuple[str, ...]
    """Those of the node's log."""
    node: str
    name: str
    topic: str
    queue_id: int
    extension: str
    """The folder with the units of the queue, if it has an extension."""
    end: int
    """Up to here the file is read; bytes."""
    is_last: bool


@dataclass
class QueuePart(InputPartition):
    """Some files of a node's consume queues."""

    files: list[QueueFile]


def queue_parts(node: StoredNode, options: StoreOptions) -> Iterator[QueuePart]:
    """Yield the files of a node's queues; small ones share a part."""
    files: list[QueueFile] = []
    cost_bytes = 0
    for file in _queue_files(node, options):
        cost_bytes += file.end + _OPEN_COST_BYTES
        if files and cost_bytes > options.max_partition_bytes:
            yield QueuePart(files)
            files, cost_bytes = [], file.end + _OPEN_COST_BYTES
        files.append(file)
    if files:
        yield QueuePart(files)


def _queue_files(node: StoredNode, options: StoreOptions) -> Iterator[QueueFile]:
    log_folders = tuple(map(os.path.abspath, node.log_folders))
    for topic, queue_id, row in node.queues():
        if options.topics and topic not in options.topics:
            continue
        folder = queue_folder(topic, queue_id, EXTENSION_FOLDER)
        extension = os.path.join(os.path.abspath(node.root), folder)
        ends = [file.data_end() for file in row.files]
        last = max((at for at, end in enumerate(ends) if end), default=-1)
        for at, file in enumerate(row.files[: last + 1]):
            end = -(-ends[at] // UNIT_BYTES) * UNIT_BYTES if at == last else file.size_bytes
            path = os.path.abspath(file.path)
            is_last = at == last
            yield QueueFile(
                *(path, log_folders, node.name, file.name, topic, queue_id, extension, end, is_last)
            )


def queue_batches(
    part: QueuePart, options: StoreOptions, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the entries of the files, in order; the padding of the first file is skipped."""
    logs: dict[tuple[str, ...], RecordLookup] = {}
    for file in part.files:
        if is_gone(file):
            yield from damage_batches(file, [gone(0)], options, schema)
            continue
        log = logs.setdefault(file.log_folders, RecordLookup(file.log_folders))
        stored = StoredFile(OpenFiles(), file.path, file.name)
        count = min(file.end, stored.size_bytes) // UNIT_BYTES
        for begin in range(0, count, _BATCH_ROWS):
            size_bytes = min(_BATCH_ROWS, count - begin) * UNIT_BYTES
            some = np.frombuffer(stored.read(begin * UNIT_BYTES, size_bytes), _UNIT)
            there = (some["size"] != 0) | (some["physical_offset"] != 0) | (some["tags_code"] != 0)
            numbers = begin + np.flatnonzero(there & (some != _PRE_BLANK))
            yield from _unit_batches(file, stored, some[numbers - begin], numbers, log, schema)
            damages = _gaps(begin, ~there)
            yield from damage_batches(file, damages, options, schema)


def _gaps(begin: int, missing: Flags) -> list[Damage]:
    """Return the ranges of entries that were never written."""
    edges = np.flatnonzero(np.diff(missing.astype(np.int8), prepend=0, append=0))
    return [
        Damage(
            (begin + first) * UNIT_BYTES,
            (behind - first) * UNIT_BYTES,
            f"zeros where {behind - first} entries should be",
        )
        for first, behind in zip(edges[0::2].tolist(), edges[1::2].tolist(), strict=True)
    ]


def _unit_batches(
    file: QueueFile,
    stored: StoredFile,
    units: npt.NDArray[np.void],
    numbers: Ints,
    log: RecordLookup,
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    count = len(units)
    if not count:
        return
    offsets = stored.offset // UNIT_BYTES + numbers
    places = units["physical_offset"].astype(np.int64)
    columns = {
        "topic": pa.repeat(pa.scalar(file.topic), count),
        "queueId": pa.repeat(pa.scalar(file.queue_id, pa.int32()), count),
        "offset": pa.array(offsets),
        "commitLogOffset": pa.array(places),
        "size": int_column(units["size"]),
        "tagsCode": _tags_codes(units["tags_code"].astype(np.int64), file.extension),
        "node": pa.repeat(pa.scalar(file.node), count),
        "file": pa.repeat(pa.scalar(file.name), count),
        "filePosition": pa.array(numbers * UNIT_BYTES),
    }
    if "recordFound" in schema.names:
        found = log.has(places, units["size"].astype(np.int64), file, offsets)
        columns["recordFound"] = pa.array(found, mask=places < log.min_offset)
    arrays = [columns.get(field.name, pa.nulls(count, field.type)) for field in schema]
    yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _tags_codes(codes: Ints, extension: str) -> pa.Array:
    """Return codes with those of the extension in place of addresses; null where none is found."""
    if not (codes < LEAST_TAGS_CODE).any():
        return pa.array(codes)
    row = FileRow(OpenFiles(), (extension,), EXTENSION_FOLDER)
    return pa.array([tags_code_of(code, row) for code in codes.tolist()], pa.int64())


class RecordLookup:
    """The commit log of a node, read for many records at once."""

    def __init__(self, log_folders: tuple[str, ...]) -> None:
        self._files = FileRow(OpenFiles(), log_folders, "commitlog").files
        self._begins = np.array([file.offset for file in self._files], np.int64)

    @property
    def min_offset(self) -> int:
        """The first offset of the log; earlier bytes were deleted."""
        return int(self._begins[0]) if len(self._begins) else 0

    def has(self, places: Ints, sizes: Ints, file: QueueFile, offsets: Ints) -> Flags:
        """Return, for each place, whether a record of that size and queue offset is there."""
        found = np.zeros(len(places), np.bool_)
        number = np.searchsorted(self._begins, places, "right") - 1
        for at in np.unique(number[number >= 0]).tolist():
            log = self._files[at]
            positions = places - log.offset
            fits = (number == at) & (sizes >= RECORD_LEAST_BYTES)
            which = np.flatnonzero(fits & (positions + sizes <= log.size_bytes))
            if len(which):
                found[which] = _are_there(log, positions[which], sizes[which], file, offsets[which])
        return found


def _are_there(
    log: StoredFile, positions: Ints, sizes: Ints, file: QueueFile, offsets: Ints
) -> Flags:
    half = len(positions) // 2
    if half and sizes.sum() > _LOG_BYTES:
        first = _are_there(log, positions[:half], sizes[:half], file, offsets[:half])
        other = _are_there(log, positions[half:], sizes[half:], file, offsets[half:])
        return np.concatenate((first, other))
    data, places = _gathered(log, positions, sizes)
    table = RecordTable(data, places)
    topic = np.frombuffer(file.topic.encode("utf-8", "surrogateescape"), np.uint8)
    right: Flags = (
        table.fitting & (table.magic_code == MESSAGE_MAGIC_CODE) & (table.size_bytes == sizes)
    )
    if file.topic.startswith(LMQ_PREFIX):  # its records are in other queues, and name this one
        return right
    right &= (
        (table.queue_id == file.queue_id)
        & (table.queue_offset == offsets)
        & (table.topic_end - table.topic_begin == len(topic))
    )
    which = np.flatnonzero(right)
    raw = np.frombuffer(data, np.uint8)
    for at, byte in enumerate(topic):
        which = which[raw[table.topic_begin[which] + at] == byte]
    right[:] = False
    right[which] = True
    return right


def _gathered(log: StoredFile, positions: Ints, sizes: Ints) -> tuple[bytes, Ints]:
    """Return the bytes of these places of a file, and where among them each place is.

    Places that are close together are read at once.
    """
    order = np.argsort(positions, kind="stable")
    begins = positions[order]
    ends = np.maximum.accumulate(begins + sizes[order])
    firsts = np.flatnonzero(np.append(True, begins[1:] > ends[:-1] + _GAP_BYTES))
    range_begins, range_ends = begins[firsts], ends[np.append(firsts[1:], len(begins)) - 1]
    lengths = range_ends - range_begins
    pieces = map(log.read, range_begins.tolist(), lengths.tolist())
    number = np.searchsorted(range_begins, positions, "right") - 1
    moved = range_begins - (np.cumsum(lengths) - lengths)
    return b"".join(pieces), positions - moved[number]
