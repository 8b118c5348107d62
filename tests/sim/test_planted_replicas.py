"""Planted bugs of groups under controllers are found, and violations name what is affected.

Each was a bug of RocketMQ, or would be one. The strong invariants find what RocketMQ does still.
Without the bugs the same seeds hold.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

from fakemq.controller import decide, elect
from fakemq.ha.autoswitch import slave_link
from fakemq.ha.autoswitch.confirmed_replica import ConfirmedReplica
from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore
from fakemq.ha.autoswitch.epochs import EpochCache
from fakemq.ha.autoswitch.service import AutoSwitchHAService
from fakemq.ha.autoswitch.sync_set import InSyncSet
from fakemq.namesrv.registration import BrokerRegistration
from fakemq.sim.drawing import DRAWN, draw_plan
from fakemq.sim.history import Violation
from fakemq.sim.invariants.acknowledged import NAME as KEPT
from fakemq.sim.invariants.elections import OF_THE_SET
from fakemq.sim.invariants.equal_logs import NAME as EQUAL
from fakemq.sim.invariants.given import READABLE
from fakemq.sim.invariants.queue_offsets import NAME as DENSE
from fakemq.sim.invariants.routes import NAME as LATER_MASTER
from fakemq.sim.replay import replay_seed

MINUTES = 10
SEEDS_END = 200
LOST = (
    r"\S+ \([0-9A-F]{32}\) was answered SEND_OK by broker-\w@\d, offset \d+ of its log;"
    r" broker-\w@\d, (master of epoch \d+|the last master), does not have it there"
)
TOO_EARLY = (
    r"broker-\w@\d lets consumers read up to \d+, and the log of broker-\w@\d, which may be"
    r" elected, ends at \d+: it lacks [0-9A-F]{32}"
)
TWICE = (
    r"\S+ \([0-9A-F]{32}\), offset \d+ of the log of broker-\w@\d, has offset \d+ of \S+ queue \d+:"
    r" expected \d+"
)
DIFFERENT = (
    r"broker-\w@\d and broker-\w@\d, confirmed up to \d+: broker-\w@\d differs from its master at"
    r" \d+|before \d+, broker-\w@\d has the epochs .+, broker-\w@\d .+"
)
REPLACED = (
    r"at namesrv-\d \S+, which knows of epoch \d+, is the master of broker-\w instead of \S+, of"
    r" epoch \d+"
)


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


def run(seed: int, *, strong: bool = False) -> list[Violation]:
    """Return the violations of a seed."""
    found = replay_seed(seed, MINUTES, None, "5.5.0", controllers=DRAWN, strong=strong)
    return found.violated


@pytest.mark.slow  # runs of ten virtual minutes, until one shows the bug
@pytest.mark.parametrize(
    ("plant", "first", "invariant", "text"),
    [
        (count_no_proposed_sets, 5, KEPT, LOST),
        (confirm_without_a_missing_connection, 41, READABLE, TOO_EARLY),
        (continue_queues_behind_what_is_confirmed, 0, DENSE, TWICE),
        (register_any_master, 1, LATER_MASTER, REPLACED),
        (
            elect_outside_the_set,
            19,
            OF_THE_SET,
            r"broker-\w: \d was elected, and .+ were in sync",
        ),
        (append_epochs_without_a_cut, 1, EQUAL, DIFFERENT),
    ],
)
def test_planted_bug_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], first: int, invariant: str, text: str
) -> None:
    for seed in range(first, SEEDS_END):
        with pytest.MonkeyPatch.context() as monkeypatch:
            plant(monkeypatch)
            found = run(seed)
        if found:
            said = [one.text for one in found if one.invariant == invariant]
            assert said
            assert all(re.fullmatch(text, one) for one in said)
            assert not run(seed)
            return
    pytest.fail("no seed shows it")


@pytest.mark.slow  # whole runs
@pytest.mark.parametrize("seed", [1, 9])
def test_strong_invariants_find_what_rocketmq_loses(seed: int) -> None:
    """With minInSyncReplicas=1 of seed 1, whole seconds; with 2 of seed 9, what was in flight."""
    replicas = draw_plan(seed, MINUTES, "5.5.0", controllers=DRAWN).cluster.replicas
    assert replicas is not None
    assert replicas.min_in_sync_replicas == {1: 1, 9: 2}[seed]
    lost = [one.text for one in run(seed, strong=True) if one.invariant == KEPT]
    assert lost
    assert all(re.fullmatch(LOST, one) for one in lost)
    assert not run(seed)
