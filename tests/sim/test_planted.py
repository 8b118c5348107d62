"""Three bugs that are planted are found, and without them the same seeds hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakemq.broker.locks import RebalanceLockManager
from fakemq.ha.service import HAService
from fakemq.sim.plan import Plan, draw_plan
from fakemq.sim.replay import replay_seed
from fakemq.store.reput import Reput

SEEDS = range(20)
MINUTES = 10


def plans(can_show: Callable[[Plan], bool]) -> Iterator[int]:
    """The seeds of `SEEDS` whose plans have what it takes to show a bug."""
    return (seed for seed in SEEDS if can_show(draw_plan(seed, MINUTES)))


def acknowledge_before_replication(monkeypatch: pytest.MonkeyPatch) -> None:
    def when_transferred(self: HAService, next_offset: int, done: Callable[[bool], None]) -> None:
        done(True)

    monkeypatch.setattr(HAService, "when_transferred", when_transferred)


def loses_a_machine(plan: Plan) -> bool:
    return any(fault.name == "lose_machine" for fault in plan.faults)


def skip_the_first_record_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Reput.appended

    def appended(self: Reput, message: Any, members: Any, result: Any, *listeners: Any) -> None:
        offset = result.wrote_offset
        if offset == 0 or offset % self._config.mapped_file_size_commit_log:
            honest(self, message, members, result, *listeners)

    monkeypatch.setattr(Reput, "appended", appended)


def rolls_over(plan: Plan) -> bool:
    return plan.cluster.log_file_bytes <= 65_536


def never_let_a_lease_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RebalanceLockManager, "_expired", lambda self, entry: False)


def kills_who_holds_locks(plan: Plan) -> bool:
    ledger = {consumer.name for consumer in plan.consumers if consumer.ordered}
    return any(fault.name == "kill_consumer" and fault.target in ledger for fault in plan.faults)


@pytest.mark.slow  # runs of ten virtual minutes, until one shows the bug
@pytest.mark.parametrize(
    ("plant", "can_show", "invariant"),
    [
        (acknowledge_before_replication, loses_a_machine, "SEND_OK is kept"),
        (skip_the_first_record_of_a_file, rolls_over, "delivered or dead"),
        (never_let_a_lease_run_out, kills_who_holds_locks, "delivered or dead"),
    ],
)
def test_a_planted_bug_is_found(
    plant: Callable[[pytest.MonkeyPatch], None],
    can_show: Callable[[Plan], bool],
    invariant: str,
) -> None:
    for seed in plans(can_show):
        with pytest.MonkeyPatch.context() as monkeypatch:
            plant(monkeypatch)
            found = replay_seed(seed, MINUTES).violated
        if found:
            assert {violation.invariant for violation in found} == {invariant}
            assert not replay_seed(seed, MINUTES).violated
            return
    pytest.fail(f"no seed of {SEEDS} shows it")
