"""What is excused where a master acknowledged without a replica that could be elected."""

from __future__ import annotations

from fakemq.events.core import LogAppended
from fakemq.sim.invariants.acknowledged import Promises
from fakemq.sim.invariants.holes import Holes, RecordOrigin, Shown
from tests.support.histories import sent

NODE, EPOCH = "broker-a@1", 3


def holed() -> Holes:
    """Return the holes of a master that acknowledged the offsets from 100 to 300 alone."""
    holes = Holes()
    holes.counts_without(NODE, EPOCH, {2}, {2}, 100, 200)
    holes.stored(NODE, 300)
    return holes


def test_record_in_a_hole_is_excused() -> None:
    holes = holed()
    found = [at for at in (99, 100, 299, 300) if holes.has(RecordOrigin(NODE, EPOCH, at))]
    assert found == [100, 299]
    assert not holes.has(RecordOrigin("broker-a@2", EPOCH, 100))


def test_record_of_a_later_epoch_is_not_excused() -> None:
    holes = holed()
    holes.none(NODE)
    assert not holes.has(RecordOrigin(NODE, EPOCH + 2, 100))


def test_hole_ends_with_its_epoch() -> None:
    holes = holed()
    holes.counts_without(NODE, EPOCH + 1, {2}, set(), 300, 300)
    holes.stored(NODE, 400)
    assert not holes.has(RecordOrigin(NODE, EPOCH, 350))
    assert not holes.has(RecordOrigin(NODE, EPOCH + 1, 350))


def test_replica_that_has_less_widens_a_hole() -> None:
    holes = holed()
    holes.counts_without(NODE, EPOCH, {2, 3}, {2, 3}, 60, 300)
    holes.counts_without(NODE, EPOCH, {2, 3}, {2, 3}, 90, 300)
    found = [at for at in (59, 60, 299, 300) if holes.has(RecordOrigin(NODE, EPOCH, at))]
    assert found == [60, 299]


def test_record_that_a_replica_showed_is_excused_in_its_epoch() -> None:
    shown = Shown()
    shown.take("broker-a", [(1, 0, 100), (EPOCH, 100, 1_000)], 80, 200)
    found = [at for at in (99, 100, 199, 200) if shown.has(RecordOrigin(NODE, EPOCH, at))]
    assert found == [100, 199]
    found = [at for at in (79, 80, 99, 100) if shown.has(RecordOrigin("broker-a@2", 1, at))]
    assert found == [80, 99]
    assert not shown.has(RecordOrigin("broker-b@1", EPOCH, 150))


class Empty:
    """A store without records."""

    def select_one_message_by_offset(self, phy_offset: int) -> memoryview | None:
        return None


def test_promise_of_a_later_epoch_is_kept_or_a_violation() -> None:
    promises = Promises(holed().has)
    for epoch, key in ((EPOCH, "old"), (EPOCH + 2, "new")):
        appended = LogAppended(
            node=NODE,
            topic="orders",
            queue_id=0,
            queue_offset=1,
            phy_offset=100,
            size_bytes=50,
            msg_id=f"ID-{key}",
        )
        promises.stored(RecordOrigin(NODE, epoch, 100), appended)
        promises.promise(sent(key, phy_offset=100))
    (found,) = promises.missing("broker-a", "broker-a@2", "the last master", Empty())
    assert found.words == ("new", "ID-new")
