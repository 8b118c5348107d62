"""``--check``: finds bytes of a store that are damaged, missing, or point to a wrong place.

A finding is about bytes that no clean or killed broker leaves behind after its recovery.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fakemq.broker.tables.persistence import LMQ_OFFSETS, NAMES, OFFSETS, TABLES, WRITTEN_AT_STOP
from fakemq.dump.check_index import check_index
from fakemq.dump.check_timers import check_timers
from fakemq.dump.rows import check_row
from fakemq.protocol import fastjson
from fakemq.protocol.limits import FILE_JSON
from fakemq.protocol.sysflag import UNQUEUED, MessageSysFlag
from fakemq.store.checkpoint import FILE_BYTES as CHECKPOINT_BYTES
from fakemq.store.findings import (
    CONFIG_EMPTY,
    CONFIG_MISSING,
    NO_TOPIC,
    OWN_TOPICS,
    Finding,
    entry_error,
    few,
    is_in_config,
    no_entry,
    no_queue,
    no_table,
    no_unit,
    place_text,
    wrong_place,
    wrong_size,
)
from fakemq.store.queue_folders import why_no_queue
from fakemq.store.stored_entries import (
    UNIT_BYTES,
    LogEnd,
    Passed,
    QueueUnit,
    records,
    tags_code_of,
    units,
    written_units,
)

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt
    from fakemq.store.stored_file import StoredFile
    from fakemq.store.stored_node import FileRow, StoredNode

FINDINGS_A_FILE = 50
"""The most findings of one file that are listed; the others are counted."""


def check(node: StoredNode, passed: Passed) -> Iterator[Finding]:
    """Return all defects of a node's store, in the order of its parts."""
    yield from few(check_log(node, passed), FINDINGS_A_FILE)
    for topic in sorted({topic for topic, _, row in node.queues() if row.files}):
        if is_in_config(topic) and not _has_topic(node, topic):
            yield Finding(f"consumequeue/{topic}", 0, NO_TOPIC)
    for topic, queue_id, row in node.queues():
        yield from few(check_queue(node, topic, queue_id, row, passed), FINDINGS_A_FILE)
    for file in node.index_files():
        yield from few(check_index(node, file), FINDINGS_A_FILE)
    yield from few(check_timers(node), FINDINGS_A_FILE)
    yield from check_checkpoint(node)
    yield from check_config(node)


# -- commit log ---------------------------------------------------------------------------------


def check_log(node: StoredNode, passed: Passed) -> Iterator[Finding]:
    """Check that records follow each other, are whole, and have their entries in their queues."""
    yield from check_row(node.log, 1)
    for number, file in enumerate(node.log.files, 1):
        behind = node.log.files[number:]
        for one in records(file, passed, check_crc=True):
            if isinstance(one, LogEnd):
                yield from _check_end(file, one, behind)
                break
            position, (_, _, message, _) = one
            if message is None:
                continue
            phy_offset = file.offset + position
            if message.commit_log_offset != phy_offset:
                yield Finding(
                    *(file.name, position),
                    wrong_place(phy_offset, message.commit_log_offset),
                )
            elif missing := _missing(node, message):
                yield Finding(file.name, position, missing)


def _check_end(
    file: StoredFile, end: LogEnd, files_behind: Sequence[StoredFile]
) -> Iterator[Finding]:
    left_bytes = file.size_bytes - end.position
    if end.why == "zeros":
        behind = file.data_from(end.position)
        if behind is not None:
            text = f"the records end here, and at {behind} there is something again"
            yield Finding(file.name, end.position, text)
        elif any(one.data_from(0) is not None for one in files_behind):  # Java makes them early
            text = f"{left_bytes} bytes without a record or a blank, and another file follows"
            yield Finding(file.name, end.position, text)
    elif end.why not in ("blank", "full"):
        yield Finding(file.name, end.position, f"no record: {end.why}")


def _missing(node: StoredNode, message: MessageExt) -> str:
    """Return what is wrong with the queue of a record; "" if nothing is.

    An entry for another record is left to the check of the queue.
    """
    if message.sys_flag & MessageSysFlag.TRANSACTION_MASK in UNQUEUED:
        return ""
    if why_no_queue(message.topic, message.queue_id):
        return ""  # a broker passes over it, too
    place = place_text(message.topic, message.queue_id, message.queue_offset)
    row = node.queue(message.topic, message.queue_id)
    known = message.topic in OWN_TOPICS or _has_topic(node, message.topic)
    if row is None or not row.files:
        return no_queue(place) if known else ""
    unit = row.read(message.queue_offset * UNIT_BYTES, UNIT_BYTES)
    if unit is not None and unit != bytes(UNIT_BYTES):
        return ""
    first = next(units(row, _ignore), None)
    if (
        first is None
        or message.queue_offset < first.offset
        or (message.commit_log_offset < first.phy_offset)
    ):
        return ""  # of a queue that was deleted, or emptied, since
    return no_entry(place)


def _has_topic(node: StoredNode, topic: str) -> bool:
    # A deleted topic has no queues any more, but its records stay.
    text = node.config_text("topics.json")
    return text is None or f'"{topic}"' in text


def _ignore(size_bytes: int) -> None:
    pass


# -- consume queues -----------------------------------------------------------------------------


def check_queue(
    node: StoredNode, topic: str, queue_id: int, row: FileRow, passed: Passed
) -> Iterator[Finding]:
    """Check that entries have no gap, and that each points to its record."""
    yield from check_row(row, UNIT_BYTES)
    before: QueueUnit | None = None
    for unit in units(row, passed):
        gap = before is not None and unit.offset != before.offset + 1
        if gap and before is not None:
            text = f"offsets {before.offset + 1} to {unit.offset - 1} are missing"
            yield Finding(unit.file.name, unit.position, text)
        text = _check_unit(node, topic, queue_id, unit)
        if not text and before is not None and unit.phy_offset <= before.phy_offset:
            text = (
                f"offset {unit.offset} points at {unit.phy_offset},"
                f" the one before at {before.phy_offset}"
            )
        if text:
            yield Finding(unit.file.name, unit.position, text)
        before = unit
    for file in row.files:
        end = min(file.size_bytes, _units_end(file))
        behind = file.data_from(end)
        if behind is not None and behind < file.size_bytes - file.size_bytes % UNIT_BYTES:
            text = f"the entries end here, and at {behind} there is something again"
            yield Finding(file.name, end, text)


def _units_end(file: StoredFile) -> int:
    """Return where the entries of one file end."""
    end = 0
    for position, _ in written_units(file):
        end = position + UNIT_BYTES
    return end


def _check_unit(node: StoredNode, topic: str, queue_id: int, unit: QueueUnit) -> str:
    """Return what is wrong with an entry; "" if its record may have been deleted."""
    if unit.phy_offset < node.log.min_offset and unit.phy_offset >= 0:
        return ""
    code = tags_code_of(unit.tags_code, node.extension(topic, queue_id))
    if code is None:
        return no_unit(unit.offset, unit.tags_code)
    entry = unit.phy_offset, unit.size_bytes, code
    return entry_error(topic, queue_id, unit.offset, entry, node.record(unit.phy_offset))


# -- checkpoint and config ----------------------------------------------------------------------


def check_checkpoint(node: StoredNode) -> Iterator[Finding]:
    """Check that the file has the size with which a start opens it."""
    file = node.file("checkpoint")
    if file is not None and file.size_bytes != CHECKPOINT_BYTES:
        yield Finding("checkpoint", 0, wrong_size(file.size_bytes, CHECKPOINT_BYTES))


def check_config(node: StoredNode) -> Iterator[Finding]:
    """Check that a broker can read the texts."""
    for name in NAMES:
        texts = {file: node.config_text(file) for file in (name, f"{name}.bak")}
        backed_up = texts[f"{name}.bak"] is not None
        expected = node.stopped and name in WRITTEN_AT_STOP
        if name == OFFSETS and expected:  # of a broker with enableLmq they are in another file
            expected = node.config_text(LMQ_OFFSETS) is None
        if texts[name] is None and (backed_up or expected):
            yield Finding(f"config/{name}", 0, CONFIG_MISSING)
        for file, text in texts.items():
            if text is None:
                continue
            if not text:
                yield Finding(f"config/{file}", 0, CONFIG_EMPTY)
                continue
            try:
                value = fastjson.loads(text, FILE_JSON)
            except fastjson.JsonError as error:
                yield Finding(f"config/{file}", 0, str(error))
                continue
            if value is not None and not isinstance(value, dict):
                yield Finding(f"config/{file}", 0, "expected an object")
            elif value is None or TABLES[name] not in value:
                yield Finding(f"config/{file}", 0, no_table(TABLES[name]))
