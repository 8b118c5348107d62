"""A damaged field of an index file costs no key without a word of `dump --check`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple
from unittest.mock import patch

import pytest

from fakemq.clock.slices import finished
from fakemq.core.cluster import ClusterCore
from fakemq.dump.check_index import check_index
from fakemq.events import StoreRepaired
from fakemq.protocol.layout.codecs import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT
from fakemq.store import seal
from fakemq.store.index_build import read_keys
from fakemq.store.stored_entries import Index
from fakemq.store.stored_file import OpenFiles, StoredFile
from fakemq.store.stored_node import StoredNode
from tests.attack.mutations import NODE
from tests.attack.stores import copy_sparse, spec_of, write_base

Reference = Literal["4.9.7", "5.5.0"]
Answers = dict[tuple[str, str], set[int]]
"""The physical offsets by topic and key."""
HEADER = {
    "begin_timestamp_ms": (0, 8),
    "end_timestamp_ms": (8, 8),
    "begin_phy_offset": (16, 8),
    "end_phy_offset": (24, 8),
    "index_count": (36, 4),
}
"""Place and size of each field from which a query goes; hash_slot_count is only counted."""
ENTRY = {"key_hash": (0, 4), "phy_offset": (4, 8), "seconds": (12, 4), "previous": (16, 4)}


class Damage(NamedTuple):
    """Bytes to write at a place of a file."""

    what: str
    path: Path
    at: int
    data: bytes


@pytest.fixture(scope="module", params=["4.9.7", "5.5.0"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    reference: Reference = request.param
    folder = tmp_path_factory.mktemp("index")
    with patch.object(seal, "LEAST_BYTES", 0):
        write_base(folder / reference, 2, reference)
    return folder / reference


def damages(node: Path) -> Iterator[Damage]:
    """Yield a few other values for each field of each file, and for some entries and slots."""
    for file in StoredNode(str(node)).index_files():
        index, path = Index(file), node / file.name
        assert index.head is not None
        entries = list(index.entries())
        for name, (at, size) in HEADER.items():
            yield from _values(f"header {name}", path, at, size)
        for slot in {entries[0].key_hash % index.slots, entries[-1].key_hash % index.slots, 7}:
            at = INDEX_HEADER.size + slot * INDEX_SLOT.size
            yield from _values(f"slot {slot}", path, at, INDEX_SLOT.size)
        with_one_before = [entry for entry in entries if entry.previous]
        for entry in (entries[0], entries[-1], *with_one_before[:2], *with_one_before[-1:]):
            for name, (begin, size) in ENTRY.items():
                what = f"entry {entry.number} {name}"
                yield from _values(what, path, index.entry_at(entry) + begin, size)
            zeros = bytes(INDEX_ENTRY.size)
            yield Damage(f"entry {entry.number}", path, index.entry_at(entry), zeros)
        yield Damage("header", path, 0, bytes(INDEX_HEADER.size))


def _values(what: str, path: Path, at: int, size: int) -> Iterator[Damage]:
    with path.open("rb") as file:
        file.seek(at)
        data = file.read(size)
    now = int.from_bytes(data, signed=True)
    for value in {0, 1, -1, now + 1, now - 1, now + 5_000, (1 << size * 8 - 1) - 1} - {now}:
        yield Damage(f"{what}={value}", path, at, value.to_bytes(size, signed=True))


def answers(root: Path, reference: Reference) -> tuple[Answers, bool]:
    """Start on a store; return what a query finds for each key, and if an index was made anew."""
    core = ClusterCore(spec_of(root, reference), ["127.0.0.1:1"], [10911])
    core.stop_logging()
    core.start()
    try:
        found: Answers = {}
        store = core.broker("broker-a").store
        for _, record in list(store.log.records(store.log.min_offset, store.log.max_offset)):
            topic, keys, _ = read_keys(record, tags=reference == "5.5.0")
            for key in keys:
                queried = finished(store.query_message(topic, key, 64, 0, 1 << 60)).buffers
                found[topic, key] = {int.from_bytes(one[28:36]) for one in queried}
        repaired = core.journal.find(StoreRepaired)
        return found, any(one.file.startswith("index/") for one in repaired)
    finally:
        core.stop()


def test_damaged_field_is_named_or_costs_no_key(base: Path, tmp_path: Path) -> None:
    reference: Reference = "5.5.0" if base.name == "5.5.0" else "4.9.7"
    shutil.copytree(base, tmp_path / "whole", copy_function=copy_sparse)
    wanted, _ = answers(tmp_path / "whole", reference)
    assert len(wanted) > 100
    assert all(wanted.values())
    node, silent = base / NODE, []
    for damage in damages(node):
        with damage.path.open("r+b") as file:
            file.seek(damage.at)
            before = file.read(len(damage.data))
            file.seek(damage.at)
            file.write(damage.data)
        stored = StoredNode(str(node))
        if not any(list(check_index(stored, file)) for file in stored.index_files()):
            root = tmp_path / "damaged"
            shutil.rmtree(root, ignore_errors=True)
            shutil.copytree(base, root, copy_function=copy_sparse)
            found, made_anew = answers(root, reference)
            if found != wanted and not made_anew:
                silent.append(damage.what)
        with damage.path.open("r+b") as file:
            file.seek(damage.at)
            file.write(before)
    assert silent == []
    assert not any(list(check_index(StoredNode(str(node)), file)) for file in stored.index_files())


def test_slots_are_not_taken_for_fewer_with_the_entries_moved_by_one(tmp_path: Path) -> None:
    slots = bytearray(50 * INDEX_SLOT.size)
    INDEX_SLOT.pack_into(slots, 3 * INDEX_SLOT.size, 2)
    # Two keys of the record at 0. With 45 slots the place before entry 1 would be entry 1.
    entries = bytes(INDEX_ENTRY.size) + INDEX_ENTRY.pack(3, 0, 0, 0) + INDEX_ENTRY.pack(53, 0, 0, 1)
    data = INDEX_HEADER.pack(1_000, 1_000, 0, 0, 1, 3) + slots + entries
    path = tmp_path / "20231114221320000"
    path.write_bytes(data.ljust(INDEX_HEADER.size + len(slots) + 100 * INDEX_ENTRY.size, b"\0"))
    index = Index(StoredFile(OpenFiles(), str(path), path.name))
    assert index.slots == 50
    assert [entry.key_hash for entry in index.entries()] == [3, 53]
