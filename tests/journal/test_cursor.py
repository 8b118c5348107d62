"""How far a reader has read a journal that is cleared meanwhile."""

from __future__ import annotations

from fakemq.clock.clock import Clock
from fakemq.events import Warned
from fakemq.journal.cursor import Cursor
from fakemq.journal.journal import Journal


def journal_of(entries: int) -> Journal:
    journal = Journal(Clock(frozen=True))
    add(journal, entries)
    return journal


def add(journal: Journal, entries: int) -> None:
    for _ in range(entries):
        journal.add(Warned(node="n", text="x"))


def test_place_stays_while_the_journal_grows() -> None:
    journal = journal_of(3)
    read = Cursor(journal, 3)
    add(journal, 2)
    assert read.seq == 3


def test_reader_begins_anew_after_a_reset_however_long_the_new_journal_is() -> None:
    for entries in (0, 1, 3, 10):
        journal = journal_of(3)
        read = Cursor(journal, 3)
        journal.clear()
        add(journal, entries)
        assert read.seq == 0
        read.seq = entries
        assert read.seq == entries


def test_number_of_another_epoch_means_the_beginning() -> None:
    journal = journal_of(3)
    assert (Cursor(journal, 2).epoch, Cursor(journal, 2, journal.epoch).seq) == (journal.epoch, 2)
    before = journal.epoch
    journal.clear()
    add(journal, 10)
    read = Cursor(journal, 2, before)
    assert (read.seq, read.epoch) == (0, journal.epoch)


def test_number_beyond_the_end_means_the_beginning() -> None:
    journal = journal_of(3)
    read = Cursor(journal, 4)
    add(journal, 5)
    assert read.seq == 0
