"""Planted bugs of groups under controllers are found, and violations name what is affected.

Each was a bug of RocketMQ, or would be one. The strong invariants find what RocketMQ does still.
Without the bugs the same seeds hold.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from fakemq.controller import decide, elect
from fakemq.events.controller import MasterElected, ReplicaJoined
from fakemq.events.core import LogAppended
from fakemq.ha.autoswitch import slave_link
from fakemq.ha.autoswitch.confirmed_replica import ConfirmedReplica
from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore
from fakemq.ha.autoswitch.epochs import EpochCache
from fakemq.ha.autoswitch.service import AutoSwitchHAService
from fakemq.ha.autoswitch.sync_set import InSyncSet
from fakemq.namesrv.registration import BrokerRegistration
from fakemq.sim.drawing import DRAWN, draw_plan
from fakemq.sim.events import Sent
from fakemq.sim.history import History, Violation, broker_name
from fakemq.sim.invariants.acknowledged import NAME as KEPT
from fakemq.sim.invariants.elections import OF_THE_SET
from fakemq.sim.invariants.equal_logs import NAME as EQUAL
from fakemq.sim.invariants.given import READABLE
from fakemq.sim.invariants.groups import SERVES
from fakemq.sim.invariants.queue_offsets import NAME as DENSE
from fakemq.sim.invariants.queue_offsets import records_of
from fakemq.sim.invariants.routes import NAME as LATER_MASTER
from fakemq.sim.replay import replay_seed, store_folder
from fakemq.sim.run import SimulationRun
from fakemq.store.commitlog import CommitLog

MINUTES = 10
SHORT = 5
"""Minutes in which most bugs show: half of them cost a third."""
FEW = 5
"""How many seeds show a bug, from the first that did: a change of what is drawn moves it."""


def count_no_proposed_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Source: apache/rocketmq#5663"""
    monkeypatch.setattr(InSyncSet, "union", property(lambda self: self.local))


def confirm_without_a_missing_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Source: apache/rocketmq#6662"""

    def set_confirm_offset(self: AutoSwitchHAService) -> None:
        union = self.sync_set.union
        offsets = [end.acknowledged_offset for end in self._ends() if end.slave_id in union]
        reported = [offset for offset in offsets if offset > 0]
        self.store.confirm_offset = min(reported, default=self.store.log.max_offset)

    monkeypatch.setattr(AutoSwitchHAService, "_set_confirm_offset", set_confirm_offset)


def continue_queues_behind_what_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Source: apache/rocketmq#7689"""

    honest = AutoSwitchHAService._set_confirm_offset

    def set_confirm_offset(self: AutoSwitchHAService) -> None:
        if self.is_master:  # not with the set of a master to be
            honest(self)

    def lead(self: ConfirmedReplica) -> None:
        self._leads, self._limit = True, None
        self.note_end()

    monkeypatch.setattr(AutoSwitchHAService, "_set_confirm_offset", set_confirm_offset)

    monkeypatch.setattr(ConfirmedReplica, "lead", lead)


def register_any_master(monkeypatch: pytest.MonkeyPatch) -> None:
    """Source: apache/rocketmq#6316"""
    monkeypatch.setattr(BrokerRegistration, "_is_outdated", lambda self, *more: False)


def elect_outside_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = elect.elect

    def elect_any(
        alive: Any, broker_name: str, replicas: Any, sync: Any, **more: Any
    ) -> int | None:
        everyone = copy.copy(sync)
        everyone.sync_state_set = frozenset(replicas.replicas)
        return honest(alive, broker_name, replicas, everyone, **more)

    monkeypatch.setattr(decide, "elect", elect_any)


def append_epochs_without_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(node: Any, store: ConfirmedStore, epochs: EpochCache, at: int, *peer: str) -> None:
        epochs.truncate_suffix_by_offset(max(1, at))

    monkeypatch.setattr(slave_link, "cut", cut)


# -- what violations name -----------------------------------------------------------------------


class Life(NamedTuple):
    """A run that has ended, with its stores."""

    sim: SimulationRun
    appended: Sequence[LogAppended]
    """All records that masters put into their logs."""
    found: Sequence[Violation]

    def log(self, node: str) -> CommitLog:
        return self.sim.core.brokers[node].store.log


def whose_promise_is_broken(life: Life, violation: Violation) -> None:
    """The violation names a message with a SEND_OK, and a master whose log lacks it."""
    key, msg_id = violation.words
    said = re.fullmatch(
        rf"{key} \({msg_id}\) was answered SEND_OK by (broker-\w@\d), offset (\d+) of its log;"
        r" (broker-\w@\d), (?:master of epoch \d+|the last master), does not have it there",
        violation.text,
    )
    assert said
    node, offset, later = said[1], int(said[2]), said[3]
    assert any(
        (one.key, one.msg_id, one.phy_offset, one.status) == (key, msg_id, offset, "SEND_OK")
        for one in life.sim.history.of(Sent)
    )
    assert any(
        (one.node, one.msg_id, one.phy_offset) == (node, msg_id, offset) for one in life.appended
    )
    there = life.log(later).records(0, life.log(later).max_offset)
    assert all(msg_id.encode() not in bytes(record) for at, record in there if at == offset)


def which_a_member_lacks(life: Life, violation: Violation) -> None:
    """The violation names a message that consumers could read where a member's log ends."""
    msg_id, member = violation.words
    said = re.fullmatch(
        r"(broker-\w@\d) lets consumers read up to (\d+), and the log of"
        rf" {member}, which may be elected, ends at (\d+): it lacks {msg_id}",
        violation.text,
    )
    assert said
    master, readable, end = said[1], int(said[2]), int(said[3])
    assert any(
        one.phy_offset <= end < one.phy_offset + one.size_bytes <= readable
        for one in life.appended  # which has a message again that was sent back
        if (one.node, one.msg_id) == (master, msg_id)
    )


def whose_place_is_taken(life: Life, violation: Violation) -> None:
    """The violation names a message that has the place of another one, in the same log."""
    msg_id, node = violation.words
    said = re.fullmatch(
        rf"\S+ \({msg_id}\), offset (\d+) of the log of {node}, has offset (\d+) of (\S+) queue"
        r" (\d+): expected \d+",
        violation.text,
    )
    assert said
    place = said[3], int(said[4]), int(said[2])
    there = {
        one.commit_log_offset: one.msg_id
        for one in records_of(life.log(node))
        if (one.topic, one.queue_id, one.queue_offset) == place
    }
    assert there[int(said[1])] == msg_id
    assert len(there) > 1


def whose_later_master_is_replaced(life: Life, violation: Violation) -> None:
    """The violation names the address of an elected master, and that of another replica."""
    name_server, group = violation.words
    said = re.fullmatch(
        rf"at {name_server} (\S+), which knows of epoch (\d+), is the master of {group} instead of"
        r" (\S+), of epoch (\d+)",
        violation.text,
    )
    assert said
    addrs = {
        one.broker_id: one.broker_addr
        for one in life.sim.history.of(ReplicaJoined)
        if one.broker_name == group
    }
    elected = {
        one.master_epoch: addrs[one.broker_id]
        for one in life.sim.history.of(MasterElected)
        if one.broker_name == group and one.broker_id is not None
    }
    assert elected[int(said[4])] == said[3] != said[1]
    assert said[1] in addrs.values()
    assert int(said[2]) < int(said[4])


def whose_set_is_passed_over(life: Life, violation: Violation) -> None:
    """The violation names a group, and a replica that was elected from outside the set."""
    (group,) = violation.words
    said = re.fullmatch(rf"{group}: (\d) was elected, and (\(.+\)) were in sync", violation.text)
    assert said
    (elected,) = (
        one
        for one in life.sim.history.of(MasterElected)
        if (one.broker_name, str(one.broker_id), str(one.last_set)) == (group, said[1], said[2])
    )
    assert elected.broker_id not in elected.last_set


def whose_logs_differ(life: Life, violation: Violation) -> None:
    """The violation names a place at which two masters have put records, or epochs that differ.

    The logs may be the same again: replicas that join cut off what their master does not have.
    """
    one, other = violation.words
    said = re.fullmatch(
        rf"{one} and {other}, confirmed up to (\d+): {other} differs from its master at (\d+)"
        rf"|before \d+, {one} has the epochs (\[.+\]), {other} (\[.+\])",
        violation.text,
    )
    assert said
    if not said[2]:
        assert said[3] != said[4]
        return
    offset = int(said[2])
    assert offset < int(said[1])
    masters = {
        record.node
        for record in life.appended
        if record.phy_offset <= offset < record.phy_offset + record.size_bytes
        if broker_name(record.node) == broker_name(one)
    }
    assert len(masters) > 1


REQUIRED: Mapping[str, Callable[[Life, Violation], None]] = {
    KEPT: whose_promise_is_broken,
    READABLE: which_a_member_lacks,
    DENSE: whose_place_is_taken,
    LATER_MASTER: whose_later_master_is_replaced,
    OF_THE_SET: whose_set_is_passed_over,
    EQUAL: whose_logs_differ,
}
"""By invariant: what must be true of what its violations name."""


@contextmanager
def lived(seed: int, minutes: int = MINUTES, *, strong: bool = False) -> Iterator[Life]:
    """Live through the plan of a seed; its stores are deleted at the end."""
    with store_folder() as root:
        plan = draw_plan(seed, minutes, "5.5.0", controllers=DRAWN, strong=strong)
        sim = SimulationRun(plan, root)
        sim.core.stop_logging()
        appended = History(sim.core.journal, kinds=(LogAppended,))
        try:
            sim.start()
            sim.pass_to(plan.length_ms)
            yield Life(sim, list(appended.of(LogAppended)), sim.verdict())
        finally:
            sim.close()


def holds(seed: int, minutes: int = MINUTES) -> bool:
    return not replay_seed(seed, minutes, None, "5.5.0", controllers=DRAWN).violated


def shows(life: Life, invariant: str) -> bool:
    """Return whether an invariant is violated; whatever is, is what its violation says."""
    for violation in life.found:
        if violation.invariant in REQUIRED:
            REQUIRED[violation.invariant](life, violation)
    return any(one.invariant == invariant for one in life.found)


@pytest.mark.slow  # whole runs, until one shows the bug
@pytest.mark.parametrize(
    ("plant", "minutes", "first", "invariant"),
    [
        (count_no_proposed_sets, MINUTES, 5, KEPT),
        (confirm_without_a_missing_connection, SHORT, 44, READABLE),
        (continue_queues_behind_what_is_confirmed, SHORT, 9, DENSE),
        (register_any_master, SHORT, 34, LATER_MASTER),
        (elect_outside_the_set, SHORT, 5, OF_THE_SET),
        (append_epochs_without_a_cut, SHORT, 13, EQUAL),
    ],
)
def test_planted_bug_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], minutes: int, first: int, invariant: str
) -> None:
    for seed in range(first, first + FEW):
        with pytest.MonkeyPatch.context() as monkeypatch:
            plant(monkeypatch)
            with lived(seed, minutes) as life:
                found = shows(life, invariant)
        if found:
            assert holds(seed, minutes)
            return
    pytest.fail(f"no seed of {FEW} from {first} on shows it")


@pytest.mark.slow  # whole runs
@pytest.mark.parametrize("seed", [1, 9])
def test_strong_invariants_find_what_rocketmq_loses(seed: int) -> None:
    """With minInSyncReplicas=1 of seed 1, whole seconds; with 2 of seed 9, what was in flight."""
    with lived(seed, strong=True) as life:
        replicas = life.sim.plan.cluster.replicas
        assert replicas is not None
        assert replicas.min_in_sync_replicas == {1: 1, 9: 2}[seed]
        assert shows(life, KEPT)
    assert holds(seed)


@pytest.mark.slow  # whole runs
@pytest.mark.parametrize("seed", [594, 640])
def test_hole_of_rocketmq_is_excused(seed: int) -> None:
    """A member that has not reported counts as complete; a stopped broker shows its whole log."""
    assert holds(seed)


@pytest.mark.slow  # whole runs
@pytest.mark.parametrize(("seed", "invariant"), [(895, EQUAL), (1452, SERVES)])
def test_epoch_that_begins_again_is_excused_unless_strong(seed: int, invariant: str) -> None:
    """The slaves of seed 1452 have no other epoch: they never follow their master again."""
    with lived(seed, strong=True) as life:
        assert shows(life, invariant)
    assert holds(seed)
