"""Explains files whose entries have one size, and the frames of replication."""

from __future__ import annotations

from typing import Any

from fakemq.decoding.fields import BrokenError, Explained, Field, Title
from fakemq.decoding.records import records
from fakemq.decoding.walk import walk
from fakemq.protocol.layout.ha import SlaveAck, TransferHeader
from fakemq.protocol.layout.store_files import (
    Checkpoint,
    ConsumeQueueUnit,
    IndexEntry,
    IndexHeader,
    IndexSlot,
)
from fakemq.protocol.layout.timer import TimerCheckpoint, TimerLogUnit, WheelSlot

ENTRIES: dict[str, tuple[Any, str]] = {
    "consumequeue": (ConsumeQueueUnit, "entry"),
    "timerlog": (TimerLogUnit, "unit"),
    "timerwheel": (WheelSlot, "slot"),
    "ha-ack": (SlaveAck, "report of a slave"),
}
"""Kind → the declaration of an entry, and what it is called."""

HEADS: dict[str, Any] = {"checkpoint": Checkpoint, "timercheck": TimerCheckpoint}
"""Kind → the declaration of a file that is one structure and zeros."""

_SLOTS = 5_000_000


def entries(kind: str, data: bytes, start: int) -> Explained[None]:
    """Explain entries one after another, those that are zero left out."""
    layout, name = ENTRIES[kind]
    size: int = layout.sizeof()
    number = skipped = 0
    while start < len(data):
        if len(data) - start < size:
            raise BrokenError(start, f"{len(data) - start} bytes are left; {name}s have {size}")
        if any(data[start : start + size]):
            yield Title(start, f"{name} {number}")
            yield from walk(layout, data, start, start + size)
        else:
            skipped += 1
        start, number = start + size, number + 1
    if skipped:
        yield Title(start, f"{skipped} {name}s of zeros are not shown")


def head(kind: str, data: bytes, start: int) -> Explained[None]:
    """Explain a file that begins with one structure."""
    yield Title(start, kind)
    yield from walk(HEADS[kind], data, start, len(data))


def index(data: bytes, start: int) -> Explained[None]:
    """Explain an index file: its header, the slots that are used, its entries."""
    yield Title(start, "header")
    header = yield from walk(IndexHeader, data, start, len(data))
    slots_at = start + IndexHeader.sizeof()
    entries_at = slots_at + _SLOTS * IndexSlot.sizeof()
    end = min(len(data), entries_at)
    shown = 0
    at = slots_at
    while at + 4 <= end and shown < header["hash_slot_count"]:
        if any(data[at : at + 4]):
            yield Title(at, f"slot {(at - slots_at) // 4}")
            yield from walk(IndexSlot, data, at, at + 4)
            shown += 1
        at += 4
    size: int = IndexEntry.sizeof()
    for number in range(1, header["index_count"]):
        at = entries_at + number * size
        if at + size > len(data):
            raise BrokenError(
                start + 36,
                f"index_count is {header['index_count']}, but entry {number} is behind the end",
            )
        yield Title(at, f"entry {number}")
        yield from walk(IndexEntry, data, at, at + size)


def transfers(data: bytes, start: int) -> Explained[None]:
    """Explain what a master sends to a slave: headers, each with records behind it."""
    number = 0
    while start < len(data):
        yield Title(start, f"transfer {number}")
        header = yield from walk(TransferHeader, data, start, len(data))
        start += TransferHeader.sizeof()
        size = header["body_size"]
        if not 0 <= size <= len(data) - start:
            raise BrokenError(
                start - 4, f"body_size is {size}, but {len(data) - start} bytes are left"
            )
        if size:
            yield Field(start, size, "body", f"{size} bytes of the log")
            yield from records(data, start, start + size, depth=1)
        start, number = start + size, number + 1
