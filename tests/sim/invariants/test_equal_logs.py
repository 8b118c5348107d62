"""When two replicas have the same epochs."""

from __future__ import annotations

from fakemq.sim.invariants.equal_logs import EpochStarts

END = 1 << 40


def test_epoch_that_its_master_began_again_has_its_last_start() -> None:
    starts = EpochStarts()
    starts.begun(1, 0)
    starts.begun(5, 253)
    starts.begun(5, 752)
    assert starts.newest((5, 253, END)) == (5, 752, END)
    assert starts.newest((1, 0, 253)) == (1, 0, 253)


def test_start_that_no_master_had_is_not_replaced() -> None:
    starts = EpochStarts()
    starts.begun(5, 253)
    starts.begun(5, 752)
    assert starts.newest((5, 300, END)) == (5, 300, END)
    assert starts.newest((4, 253, END)) == (4, 253, END)
