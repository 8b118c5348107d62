"""The epochs of a log and their file.

What Java reads of each file in epoch_files.json was asked of EpochFileCache of 5.5.0: name, file
and backup as Latin-1, and the entries with their ends; null where it ends with
NumberFormatException.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fakemq.errors import StoreError
from fakemq.files.texts import DiskTextFile, MemoryTextFile
from fakemq.ha.autoswitch.epoch_file import decode, encode
from fakemq.ha.autoswitch.epochs import EpochCache, EpochEntry
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.java import LONG_MAX

ASKED = json.loads(Path(__file__).with_name("epoch_files.json").read_text())
STARTS = [(1, 0), (2, 78736), (3, 612128)]
TEXT = "3\n1229428967\n1-0\n2-78736\n3-612128\n"
"""A file of a real broker."""
EPOCHS = st.integers(0, 20)
OFFSETS = st.integers(0, 200)


# -- the file -------------------------------------------------------------------------------------


def test_epoch_file_is_that_of_java() -> None:
    assert encode([(*start, LONG_MAX) for start in STARTS]) == TEXT
    assert decode(TEXT) == STARTS


@pytest.mark.parametrize(
    ("name", "text", "backup", "entries"), ASKED, ids=[row[0] for row in ASKED]
)
def test_damaged_epoch_file_is_read_as_java_reads_it(
    tmp_path: Path,
    name: str,
    text: str | None,
    backup: str | None,
    entries: list[list[int]] | None,
) -> None:
    path = tmp_path / "epochFileCheckpoint"
    for file, content in ((path, text), (tmp_path / "epochFileCheckpoint.bak", backup)):
        if content is not None:
            file.write_bytes(content.encode("latin-1"))
    if entries is None:
        with pytest.raises(StoreError, match="where a number is expected"):
            EpochCache(DiskTextFile(str(path)))
    else:
        cache = EpochCache(DiskTextFile(str(path)))
        assert [list(entry) for entry in cache] == entries


def test_changed_epochs_leave_the_old_file_as_backup(tmp_path: Path) -> None:
    path = tmp_path / "epochFileCheckpoint"
    cache = EpochCache(DiskTextFile(str(path)))
    for start in STARTS:
        cache.append(*start)
    assert path.read_text() == TEXT
    assert decode((tmp_path / "epochFileCheckpoint.bak").read_text()) == STARTS[:2]


def test_empty_list_of_epochs_is_never_written() -> None:
    file = MemoryTextFile("epochs")
    cache = EpochCache(file)
    cache.append(1, 0)
    written = file.read()
    cache.truncate_suffix_by_offset(0)
    assert not len(cache)
    assert file.read() == written


@given(st.text(alphabet="0123456789-+ \n\r\ufffdx", max_size=40))
def test_any_text_is_entries_or_damage_or_no_number(text: str) -> None:
    try:
        entries = decode(text)
    except NumberFormatError:
        return
    if entries is not None:
        assert decode(encode([(*start, 0) for start in entries])) == entries


# -- the entries ----------------------------------------------------------------------------------


def cache_of(*starts: tuple[int, int]) -> EpochCache:
    return EpochCache.of(starts)


def test_epoch_without_a_record_leaves_no_entry() -> None:
    """EpochFileCache.java#appendEntry: "is not bigger than lastEntry" (5.5.0)"""
    cache = cache_of((1, 0), (3, 100))
    assert not cache.append(4, 100)
    assert not cache.append(3, 200)
    assert cache.append(5, 101)
    assert [entry[:2] for entry in cache] == [(1, 0), (3, 100), (5, 101)]
    assert cache.last_epoch() == 5


def test_cut_entries_leave_the_end_of_the_last_one_as_it_was() -> None:
    """EpochFileCache.java#doTruncateSuffix sets the end of a copy (5.5.0)"""
    cache = cache_of((1, 0), (2, 100))
    cache.truncate_suffix_by_offset(100)
    assert [*cache] == [EpochEntry(1, 0, 100)]
    assert cache.find_by_offset(100) is None
    cache.append(3, 90)
    assert [*cache] == [EpochEntry(1, 0, 90), EpochEntry(3, 90)]


@pytest.mark.parametrize(
    ("own", "own_end", "masters", "masters_end", "point"),
    [
        ([(1, 0)], 50, [(1, 0)], 80, 50),
        ([(1, 0)], 80, [(1, 0)], 50, 50),
        ([(1, 0), (2, 40)], 80, [(1, 0), (3, 60)], 90, 40),
        ([(1, 0), (2, 40)], 80, [(1, 0), (3, 30)], 90, 30),
        ([(1, 0), (2, 40)], 80, [(1, 0), (2, 40), (3, 60)], 90, 60),
        ([(1, 0), (2, 40)], 80, [(1, 0), (2, 41)], 90, 40),
        ([(1, 0)], 80, [(1, 1)], 80, -1),
        ([(2, 0)], 80, [(1, 0)], 80, -1),
        ([(1, 0)], 80, [], 0, -1),
    ],
)
def test_consistent_point_is_in_the_newest_common_epoch(
    own: list[tuple[int, int]],
    own_end: int,
    masters: list[tuple[int, int]],
    masters_end: int,
    point: int,
) -> None:
    mine, theirs = EpochCache.of(own), EpochCache.of(masters)
    mine.end_last(own_end)
    theirs.end_last(masters_end)
    assert mine.consistent_point(theirs) == point


class Epochs(RuleBasedStateMachine):
    """A cache against a mapping from epochs to start and end, as Java's TreeMap."""

    def __init__(self) -> None:
        super().__init__()
        self.file = MemoryTextFile("epochs")
        self.cache = EpochCache(self.file)
        self.model: dict[int, list[int]] = {}
        self.written: dict[int, int] | None = None

    def wrote(self) -> None:
        if self.model:
            self.written = {epoch: start for epoch, (start, _) in self.model.items()}

    @rule(epoch=EPOCHS, start=OFFSETS)
    def append(self, epoch: int, start: int) -> None:
        added = not self.model or (
            epoch > max(self.model) and start > self.model[max(self.model)][0]
        )
        assert self.cache.append(epoch, start) == added
        if added:
            if self.model:
                self.model[max(self.model)][1] = start
            self.model[epoch] = [start, LONG_MAX]
            self.wrote()

    def remove(self, gone: list[int]) -> None:
        for epoch in gone:
            del self.model[epoch]
        if gone:
            self.wrote()

    @rule(epoch=EPOCHS)
    def truncate_suffix_by_epoch(self, epoch: int) -> None:
        self.cache.truncate_suffix_by_epoch(epoch)
        self.remove([one for one in self.model if one >= epoch])

    @rule(offset=OFFSETS)
    def truncate_suffix_by_offset(self, offset: int) -> None:
        self.cache.truncate_suffix_by_offset(offset)
        self.remove([one for one, (start, _) in self.model.items() if start >= offset])

    @rule(offset=OFFSETS)
    def truncate_prefix_by_offset(self, offset: int) -> None:
        self.cache.truncate_prefix_by_offset(offset)
        self.remove([one for one, (_, end) in self.model.items() if end <= offset])

    @rule()
    def read_again(self) -> None:
        self.cache = EpochCache(self.file)
        starts = sorted((self.written or {}).items())
        ends = [start for _, start in starts[1:]] + [LONG_MAX]
        self.model = {
            epoch: [start, end] for (epoch, start), end in zip(starts, ends, strict=False)
        }

    @rule(offset=OFFSETS)
    def find(self, offset: int) -> None:
        found = [
            one for one in sorted(self.model) if self.model[one][0] <= offset < self.model[one][1]
        ]
        entry = self.cache.find_by_offset(offset)
        assert (None if entry is None else entry.epoch) == (found[0] if found else None)

    @rule(epoch=EPOCHS)
    def get(self, epoch: int) -> None:
        entry = self.cache.get(epoch)
        wanted = self.model.get(epoch)
        assert (None if entry is None else [*entry[1:]]) == wanted
        following = self.cache.following(epoch)
        later = min((one for one in self.model if one >= epoch), default=None)
        assert (None if following is None else following.epoch) == later

    @invariant()
    def is_the_model(self) -> None:
        rows = [(epoch, *self.model[epoch]) for epoch in sorted(self.model)]
        assert [tuple(entry) for entry in self.cache] == rows
        assert self.cache.last_epoch() == max(self.model, default=0)


TestEpochs = Epochs.TestCase
