"""Messages that a member of a group dropped, because another master moved it back."""

from __future__ import annotations

import pytest

from fakemq.clock.clock import Clock
from fakemq.events.core import Delivered, PullMoved, SentBack
from fakemq.journal.journal import Journal
from fakemq.sim.invariants.moved import MovedReaders
from tests.support.histories import consumed

NEW, OLD = "broker-a@1", "broker-a@3"
THERE = {("orders", 0, offset): f"ID-{offset}" for offset in range(10)}


class Life:
    """The journal of a group of brokers: a member got the offsets 2 to 5 of `NEW`."""

    def __init__(self) -> None:
        self.journal = Journal(Clock(frozen=True))
        self.epochs = {NEW: 3, OLD: 2}
        self.readers = MovedReaders(self.journal, self.epochs.__getitem__)
        delivered = Delivered(
            node=NEW,
            topic="orders",
            queue_id=0,
            offsets=range(2, 6),
            next_offset=6,
            group="workers",
            peer="peer",
        )
        self.journal.add(delivered)

    def move(self, node: str = OLD, next_offset: int = 5) -> None:
        moved = PullMoved(
            node=node,
            group="workers",
            topic="orders",
            queue_id=0,
            offset=6,
            next_offset=next_offset,
            peer="peer",
        )
        self.journal.add(moved)

    def dropped(self, name: str = "broker-a") -> set[tuple[str, str]]:
        return set(self.readers.dropped(name, THERE))


def ids(*offsets: int) -> set[tuple[str, str]]:
    return {("workers", f"ID-{offset}") for offset in offsets}


def test_member_drops_what_it_holds_before_the_new_offset() -> None:
    life = Life()
    assert life.dropped() == set()
    life.move()
    assert life.dropped() == ids(2, 3, 4)
    assert life.dropped("broker-b") == set()


def test_member_drops_nothing_that_was_consumed_or_sent_back() -> None:
    life = Life()
    life.journal.add(consumed("2", 2))
    life.journal.add(consumed("3", 3, well=False))
    life.journal.add(consumed("4", 4, well=False))
    back = SentBack(
        node=NEW,
        group="workers",
        level=3,
        reconsume_times=1,
        from_phy_offset=100,
        phy_offset=700,
        origin_msg_id="7F00",
        msg_id="ID-4",
    )
    life.journal.add(back)
    life.move()
    assert life.dropped() == ids(3)


@pytest.mark.parametrize("next_offset", [6, 9])
def test_member_that_is_not_moved_back_drops_nothing(next_offset: int) -> None:
    life = Life()
    life.move(next_offset=next_offset)
    assert life.dropped() == set()


def test_master_that_moves_its_own_reader_excuses_nothing() -> None:
    life = Life()
    life.move(NEW)
    assert life.dropped() == set()
    life.epochs[NEW] = 5
    life.move(NEW)
    assert life.dropped() == ids(2, 3, 4)
