"""Planted bugs are found, and each violation names an affected message.

Without the bugs the same seeds hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakemq.broker.clients.locks import RebalanceLockManager
from fakemq.broker.v5.pop.revive import LAG_MS, PopRevive
from fakemq.broker.v5.pop.revive_queue import ReviveQueue
from fakemq.events import HalfStored
from fakemq.events.pop import Acknowledged, Revived
from fakemq.ha.service import HAService
from fakemq.protocol.bodies.pop import AckMsg
from fakemq.sim.drawing import draw_plan
from fakemq.sim.events import Consumed, Sent
from fakemq.sim.history import Violation, broker_name
from fakemq.sim.invariants.delivery import RECORDS
from fakemq.sim.plan import Plan
from fakemq.sim.replay import replay_seed, store_folder
from fakemq.sim.run import SimulationRun
from fakemq.store.log_dispatch import LogDispatch
from fakemq.store.puts import AppendMessageResult
from fakemq.store.results import LogRecord
from tests.support.form import pure_only

SEEDS = range(100)
MINUTES = 10


def plans(can_show: Callable[[Plan], bool]) -> Iterator[int]:
    """Return the seeds of `SEEDS` whose plans can show a bug."""
    return (seed for seed in SEEDS if can_show(draw_plan(seed, MINUTES)))


def acknowledge_before_replication(monkeypatch: pytest.MonkeyPatch) -> None:
    def when_transferred(self: HAService, next_offset: int, done: Callable[[bool], None]) -> None:
        done(True)

    monkeypatch.setattr(HAService, "when_transferred", when_transferred)


def loses_a_machine(plan: Plan) -> bool:
    only_slaves_keep = (plan.cluster.role, plan.cluster.flush) == ("SYNC_MASTER", "ASYNC_FLUSH")
    return only_slaves_keep and any(fault.name == "lose_machine" for fault in plan.faults)


def skip_the_first_record_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, honest_put = LogDispatch.dispatch, LogDispatch.dispatch_put

    def skips(self: LogDispatch, offset: int) -> bool:
        return offset > 0 and offset % self._config.mapped_file_size_commit_log == 0

    def dispatch(self: LogDispatch, record: LogRecord, *more: Any) -> None:
        if not skips(self, record.phy_offset):
            honest(self, record, *more)

    def dispatch_put(self: LogDispatch, put: AppendMessageResult) -> bool:
        return not skips(self, put.wrote_offset) and honest_put(self, put)

    monkeypatch.setattr(LogDispatch, "dispatch", dispatch)
    monkeypatch.setattr(LogDispatch, "dispatch_put", dispatch_put)


def rolls_over(plan: Plan) -> bool:
    return plan.cluster.log_file_bytes <= 65_536


def never_let_a_lease_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RebalanceLockManager, "_expired", lambda self, entry: False)


def kills_lock_holders(plan: Plan) -> bool:
    ledger = {consumer.name for consumer in plan.consumers if consumer.ordered}
    return any(fault.name == "kill_consumer" and fault.target in ledger for fault in plan.faults)


# -- what violations name -----------------------------------------------------------------------


def whose_machine_is_lost(sim: SimulationRun, violation: Violation, sent: Sent) -> None:
    """The violation names a message of a lost machine that the slave does not have."""
    assert str(violation) == (
        f"SEND_OK is kept: {sent.key} ({sent.msg_id}) was sent to {sent.broker}, offset"
        f" {sent.phy_offset} of its log, and answered SEND_OK; no broker has it there"
    )
    assert sent.broker in {broker_name(node) for node in sim.lost}
    assert sim.core.brokers[f"{sent.broker}-1"].store.max_phy_offset <= sent.phy_offset


def whose_record_begins_a_file(sim: SimulationRun, violation: Violation, sent: Sent) -> None:
    """The violation names a message with a record that is the first of its file.

    A transaction has records without an event (its end, a check), so its places are not checked.
    """
    assert re.fullmatch(
        rf"delivered or dead: {sent.key} \({sent.msg_id}\), sent to {sent.topic} queue"
        rf" {sent.queue_id} at {sent.broker} was not delivered to (workers|ledger|audit):"
        r" (it never consumed it|(workers|ledger)-\d\S* sent it back, and it never came again)",
        str(violation),
    )
    if any(half.msg_id == sent.msg_id for half in sim.history.of(HalfStored)):
        return
    places = [sent.phy_offset]
    places += [
        entry.event.phy_offset
        for entry in sim.history.entries
        if isinstance(entry.event, RECORDS) and entry.event.msg_id == sent.msg_id
        if entry.event.phy_offset is not None
    ]
    file_bytes = sim.plan.cluster.log_file_bytes
    assert any(place and place % file_bytes == 0 for place in places)


def whose_queue_was_locked(sim: SimulationRun, violation: Violation, sent: Sent) -> None:
    """The violation names a message of a killed consumer's queue, after the last it consumed."""
    assert str(violation) == (
        f"delivered or dead: {sent.key} ({sent.msg_id}), sent to payments queue {sent.queue_id}"
        f" at {sent.broker} was not delivered to ledger: it never consumed it"
    )
    killed = {fault.target for fault in sim.plan.faults if fault.name == "kill_consumer"}
    had = [
        one.queue_offset
        for one in sim.history.of(Consumed)
        if one.node in killed
        if (one.group, one.broker, one.queue_id) == ("ledger", sent.broker, sent.queue_id)
    ]
    assert had
    assert max(had) < sent.queue_offset


def lived(seed: int, reference: str = "4.9.7") -> tuple[SimulationRun, list[Violation]]:
    """Return a finished run and its violations; its stores are deleted."""
    with store_folder() as root:
        sim = SimulationRun(draw_plan(seed, MINUTES, reference), root)
        sim.core.stop_logging()
        sim.start()
        sim.pass_to(sim.plan.length_ms)
        found = sim.verdict()
        sim.close()
    return sim, found


@pytest.mark.slow  # runs of ten virtual minutes, until one shows the bug
@pytest.mark.parametrize(
    ("plant", "can_show", "require"),
    [
        (acknowledge_before_replication, loses_a_machine, whose_machine_is_lost),
        pytest.param(
            *(skip_the_first_record_of_a_file, rolls_over, whose_record_begins_a_file),
            marks=pure_only,
        ),
        (never_let_a_lease_run_out, kills_lock_holders, whose_queue_was_locked),
    ],
)
def test_planted_bug_is_found(
    plant: Callable[[pytest.MonkeyPatch], None],
    can_show: Callable[[Plan], bool],
    require: Callable[[SimulationRun, Violation, Sent], None],
) -> None:
    for seed in plans(can_show):
        with pytest.MonkeyPatch.context() as monkeypatch:
            plant(monkeypatch)
            sim, found = lived(seed)
        if found:
            sent = {one.key: one for one in sim.history.of(Sent)}
            for violation in found:
                require(sim, violation, sent[violation.words[0]])
            assert not replay_seed(seed, MINUTES).violated
            return
    pytest.fail(f"no seed of {SEEDS} shows it")


def lose_acknowledgements_while_a_revive_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PopRevive._read_ack

    def read_ack(self: PopRevive, queue: ReviveQueue, ack: AckMsg) -> None:
        first = queue.first()
        # Java's revive runs every second: this is the time in which it may.
        if first is None or self._node.clock.now_ms() < first.revive_time + LAG_MS - 1_000:
            honest(self, queue, ack)

    monkeypatch.setattr(PopRevive, "_read_ack", read_ack)


@pytest.mark.slow  # runs of ten virtual minutes, until one shows the bug
def test_acknowledgement_that_is_lost_while_a_revive_runs_is_found() -> None:
    for seed in range(20):
        with pytest.MonkeyPatch.context() as monkeypatch:
            lose_acknowledgements_while_a_revive_runs(monkeypatch)
            sim, found = lived(seed, "5.5.0")
        if found:
            for violation in found:
                (msg_id,) = violation.words
                assert re.fullmatch(
                    r"no redelivery before its time: broker-[ab]-0 revived offset \d+ of \S+ queue"
                    rf" \d for workers \({msg_id}\), which was acknowledged",
                    str(violation),
                )
                revived = [one for one in sim.history.of(Revived) if one.msg_id == msg_id]
                acked = {
                    (one.node, one.topic, one.queue_id, one.queue_offset, one.pop_time_ms)
                    for one in sim.history.of(Acknowledged)
                }
                assert any(
                    (one.node, one.topic, one.queue_id, one.queue_offset, one.pop_time_ms) in acked
                    for one in revived
                )
            assert not replay_seed(seed, MINUTES, reference="5.5.0").violated
            return
    pytest.fail("no seed shows it")
