"""Whether a file of the index finds each key that it has: its header, its slots, its entries.

The entries decide: each is in the chain of its slot, which leads from the newest to the oldest.
Source: store/index/IndexFile.java#putKey (4.9.7, 5.5.0)
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakemq.protocol.layout.codecs import INDEX_HEADER, INDEX_SLOT
from fakemq.protocol.properties import KEY_SEPARATOR, UNIQ_CLIENT_MESSAGE_ID_KEYIDX
from fakemq.store.findings import Finding
from fakemq.store.index import key_hash
from fakemq.store.index_build import tag_key
from fakemq.store.stored_entries import Index

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt
    from fakemq.store.stored_entries import IndexEntry, IndexHead
    from fakemq.store.stored_file import StoredFile
    from fakemq.store.stored_node import StoredNode

_STEP_BYTES = 1 << 16
"""How many bytes of the slots are compared at once."""
_MOST_SECONDS = 0x7FFF_FFFF


def check_index(node: StoredNode, file: StoredFile) -> Iterator[Finding]:
    """Check that slots and entries are one chain for each slot, and point to such records."""
    index = Index(file)
    head = index.head
    if head is None:
        yield Finding(file.name, 0, f"{file.size_bytes} bytes are too few for a header")
        return
    if head.index_count < 2:
        behind = file.data_from(INDEX_HEADER.size)
        if behind is not None:
            text = f"the header says that there is no entry, and at {behind} there is something"
            yield Finding(file.name, 0, text)
        return
    if not index.slots:
        yield Finding(file.name, 0, f"the entries do not fit the header: {_head_text(head)}")
        return
    chains = _Chains(index.slots)
    first = last = None
    before = 0  # the record of the last entry that is good
    for entry in index.entries():
        at = entry.phy_offset
        deleted = 0 <= at < node.log.min_offset
        message = None if deleted else node.record(at)
        text = chains.add(entry)
        if entry.number == 1:
            first = message
        if not text and not deleted:
            begin_ms = first.store_timestamp_ms if first else head.begin_timestamp_ms
            text = _check_record(entry, message, begin_ms)
        if not text and at < before:
            text = f"points at {at}, an entry before it at {before}"
        if text:
            yield Finding(file.name, index.entry_at(entry), f"entry {entry.number}: {text}")
        elif not deleted:
            before = at
        last = message
    yield from _check_times(file, head, first, last)
    yield from chains.compared(file)


def _head_text(head: IndexHead) -> str:
    return f"{head.index_count - 1} entries from {head.begin_phy_offset} to {head.end_phy_offset}"


class _Chains:
    """The newest entry of each slot, as the entries that were added say."""

    def __init__(self, slots: int) -> None:
        self._newest = array("i", bytes(slots * INDEX_SLOT.size))

    def add(self, entry: IndexEntry) -> str:
        """Add the next entry; return what is wrong with the one before it, "" if nothing is."""
        if entry.key_hash < 0:
            return f"the hash of its key is {entry.key_hash}"
        slot = entry.key_hash % len(self._newest)
        previous, self._newest[slot] = self._newest[slot], entry.number
        if entry.previous == previous:
            return ""
        return f"the entry before it is said to be {entry.previous}, {previous} is right"

    def compared(self, file: StoredFile) -> Iterator[Finding]:
        """Yield the slots of the file that name another entry than the newest."""
        right = self._newest[:]
        if sys.byteorder == "little":
            right.byteswap()
        wanted = right.tobytes()
        for start in range(0, len(wanted), _STEP_BYTES):
            piece = wanted[start : start + _STEP_BYTES]
            found = file.read(INDEX_HEADER.size + start, len(piece))
            if found == piece:
                continue
            for slot, (says,) in enumerate(INDEX_SLOT.iter_unpack(found), start // INDEX_SLOT.size):
                if says != self._newest[slot]:
                    at = INDEX_HEADER.size + slot * INDEX_SLOT.size
                    text = f"slot {slot}: says entry {says}, {self._newest[slot]} is the newest"
                    yield Finding(file.name, at, text)


def _check_record(entry: IndexEntry, message: MessageExt | None, begin_ms: int) -> str:
    """Return what is wrong between an entry and its record."""
    if message is None:
        return f"points at {entry.phy_offset}, where no record begins"
    keys = [message.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX) or ""]
    keys += (message.keys or "").split(KEY_SEPARATOR)
    if message.tags:  # an entry of 5.5.0
        keys.append(tag_key(message.tags))
    if entry.key_hash not in [key_hash(message.topic, key) for key in keys if key]:
        return f"points at {entry.phy_offset}, whose keys have other hashes"
    if entry.number == 1:  # it counts from the last record of the file before
        return f"is {entry.seconds} s after the file before" if entry.seconds < 0 else ""
    seconds = min(max(0, (message.store_timestamp_ms - begin_ms) // 1000), _MOST_SECONDS)
    if seconds != entry.seconds:
        return f"is {entry.seconds} s after the first, its record {seconds} s"
    return ""


def _check_times(
    file: StoredFile, head: IndexHead, first: MessageExt | None, last: MessageExt | None
) -> Iterator[Finding]:
    """Check the times of the header: a query looks only into files of its time."""
    said = head.begin_timestamp_ms, head.end_timestamp_ms
    for what, said_ms, message in zip(("first", "last"), said, (first, last), strict=True):
        if message is not None and message.store_timestamp_ms != said_ms:
            right_ms = message.store_timestamp_ms
            text = f"the {what} record is said to be of {said_ms}, it is of {right_ms}"
            yield Finding(file.name, 0, text)
