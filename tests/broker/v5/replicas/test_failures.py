"""A broker under a controller when something fails: what is tried again, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakemq.broker.v5.broker import Broker5
from fakemq.broker.v5.replicas.identity import Identity
from fakemq.broker.v5.replicas.manager import ReplicasManager
from fakemq.broker.v5.replicas.states import ReplicaState
from fakemq.events.core import HandlerFailed, Warned
from fakemq.journal.warnings import MAX_LINES
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.bodies.controller import SyncStateSet
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.played_controller import ELSEWHERE, ControlledBroker, FakeReplication

LEADER = RequestCode5.CONTROLLER_GET_METADATA_INFO
ELECT = RequestCode5.CONTROLLER_ELECT_MASTER
ALTER = RequestCode5.CONTROLLER_ALTER_SYNC_STATE_SET
OTHER = 7
"""The id of a replica elsewhere."""

Make = Callable[..., ControlledBroker]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    return lambda **config: ControlledBroker(monkeypatch, **config)


@pytest.fixture
def one(make: Make) -> ControlledBroker:
    return make()


@pytest.fixture
def slave(one: ControlledBroker) -> ControlledBroker:
    """A broker that has started as the slave of another."""
    group = one.controller.group
    group.master, group.epoch, group.members, group.set_epoch = OTHER, 3, (OTHER,), 5
    one.start()
    assert role_of(one) == "SLAVE"
    return one


def role_of(one: ControlledBroker) -> str:
    return one.broker.role.name


def manager(broker: Broker5) -> ReplicasManager:
    assert broker.replicas is not None
    return broker.replicas


def warnings(one: ControlledBroker, part: str) -> list[str]:
    return [event.text for event in one.lab.journal.find(Warned) if part in event.text]


def fail(*args: object, **named: object) -> None:
    raise RuntimeError("broken")


# -- epochs -----------------------------------------------------------------------------------


def test_controllers_behind_the_log_give_no_role(one: ControlledBroker) -> None:
    one.controller.refuse[ELECT] = None
    broker = one.start()
    one.replication.epochs.entries.append((5, 0, (1 << 63) - 1))
    one.controller.refuse.clear()
    one.pass_time(300_000)
    assert broker.role.fenced
    assert manager(broker).master_id is None
    said = warnings(one, "epochFileCheckpoint")
    assert len(said) == MAX_LINES
    assert said[0] == (
        "the controllers are at epoch 1, epochFileCheckpoint at 5: they have lost their log;"
        " delete epochFileCheckpoint too, or the store"
    )
    one.controller.group.epoch = 5
    one.pass_time(6_000)
    assert (role_of(one), broker.role.fenced) == ("SYNC_MASTER", False)


# -- exceptions -------------------------------------------------------------------------------


def test_start_that_raises_is_tried_again(
    one: ControlledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(Identity, "read", fail)
        broker = one.start()
        one.pass_time(12_000)
        assert broker.role.fenced
        assert len(one.lab.journal.find(HandlerFailed)) == 3
    one.pass_time(5_000)
    assert manager(broker).state is ReplicaState.RUNNING


def test_start_that_raises_ends_with_the_broker(
    one: ControlledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Identity, "read", fail)
    one.start().kill()
    one.pass_time(20_000)
    assert len(one.lab.journal.find(HandlerFailed)) == 1


@pytest.mark.parametrize("step", ["take_set", "change_to_master", "check_set"])
def test_change_of_role_that_raises_is_repeated_by_the_next_poll(
    slave: ControlledBroker, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    replicas = manager(slave.broker)
    with monkeypatch.context() as broken:
        broken.setattr(FakeReplication, step, fail)
        slave.controller.elect(1)
        slave.notify()
        assert (replicas.master_id, replicas.master_epoch) == (OTHER, 3)
        assert replicas.master_addr == ELSEWHERE
    slave.pass_time(5_000)
    assert (replicas.master_id, replicas.master_epoch) == (1, 4)
    assert role_of(slave) == "SYNC_MASTER"
    assert ("set", [1], 6) in slave.replication.calls
    assert ("master", 4) in slave.replication.calls


def test_half_changed_role_is_taken_back_for_the_old_master(
    slave: ControlledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(FakeReplication, "change_to_master", fail)
        slave.controller.elect(1)
        slave.notify()
    slave.controller.elect(OTHER)
    slave.notify()
    assert role_of(slave) == "SLAVE"


# -- the set ----------------------------------------------------------------------------------


def asked_sets(one: ControlledBroker) -> list[tuple[list[int] | None, int]]:
    bodies = [SyncStateSet.decode(request.body) for request in one.controller.of(ALTER)]
    return [(body.sync_state_set, body.sync_state_set_epoch) for body in bodies]


def test_sets_are_asked_for_one_at_a_time_and_the_last_one_counts(one: ControlledBroker) -> None:
    one.start()
    ask = one.replication.on_set_should_change
    for members in ({1, 2}, {1}, {1, 2, 3}):
        ask(frozenset(members))
    one.lab.network.settle()
    assert asked_sets(one) == [([1, 2], 1), ([1, 2, 3], 2)]
    assert one.replication.calls[-1] == ("set", [1, 2, 3], 3)


def test_request_of_an_earlier_life_keeps_no_set_back(one: ControlledBroker) -> None:
    one.controller.refuse[ALTER] = None
    broker = one.start()
    one.replication.on_set_should_change(frozenset({1, 2}))
    one.lab.network.settle()
    broker.kill()
    one.controller.refuse.clear()
    one.controller.elect(None)
    broker.start(())
    one.lab.network.settle()
    one.replication.on_set_should_change(frozenset({1, 3}))
    one.lab.network.settle()
    assert asked_sets(one)[-1][0] == [1, 3]
    assert one.replication.calls[-1][:2] == ("set", [1, 3])


def test_set_of_an_earlier_role_is_passed_over(one: ControlledBroker) -> None:
    broker = one.start()
    answer = one.controller.answer

    def lose_the_role(request: RemotingCommand) -> RemotingCommand | None:
        made = answer(request)
        if request.code == ALTER:
            manager(broker).change_broker_role(
                master_id=OTHER,
                master_addr=ELSEWHERE,
                master_epoch=2,
                set_epoch=1,
                members=(OTHER,),
            )
        return made

    one.controller.answer = lose_the_role
    one.replication.on_set_should_change(frozenset({1, 2}))
    one.lab.network.settle()
    assert role_of(one) == "SLAVE"
    assert ("set", [1, 2], 2) not in one.replication.calls


def test_pushed_set_that_no_group_has_is_refused(slave: ControlledBroker) -> None:
    slave.controller.elect(1)
    slave.controller.group.members = tuple(range(1, 1_002))
    slave.notify()
    assert role_of(slave) == "SLAVE"
    assert ("set", list(range(1, 1_001)), 6) not in slave.replication.calls


# -- what comes late --------------------------------------------------------------------------


def test_role_is_passed_over_after_the_end(slave: ControlledBroker) -> None:
    manager(slave.broker).stop()
    slave.controller.elect(1)
    slave.notify()
    assert role_of(slave) == "SLAVE"


def test_look_for_the_leader_waits_for_the_one_before(make: Make) -> None:
    one = make(sync_controller_metadata_period=1_000)
    one.start()
    one.controller.refuse[LEADER] = None  # each look lasts 3 s
    before = len(one.controller.of(LEADER))
    one.pass_time(15_000)
    assert 3 <= len(one.controller.of(LEADER)) - before <= 5


def test_late_answer_of_a_name_server_names_no_other_master(slave: ControlledBroker) -> None:
    take, calls = slave.broker._on_master, slave.replication.calls
    slave.broker.replication()
    take("10.0.0.1:10911", "10.0.0.1:10912")
    assert ("master_is", "10.0.0.1:10911", "10.0.0.1:10912") not in calls
    take(ELSEWHERE, "10.0.0.9:10912")
    assert ("master_is", ELSEWHERE, "10.0.0.9:10912") in calls
    take(None, None)
    assert ("master_is", None, None) in calls


# -- warnings ---------------------------------------------------------------------------------


def test_identity_of_another_group_is_reported_a_few_times(one: ControlledBroker) -> None:
    broker = one.start()
    broker.kill()
    broker.config.broker_name = "other"
    broker.start(())
    one.pass_time(300_000)
    assert len(warnings(one, "brokerIdentity says")) == MAX_LINES


def test_nonsense_of_a_controller_is_reported_a_few_times(one: ControlledBroker) -> None:
    one.start()
    answer = one.controller.answer
    one.controller.answer = lambda request: (
        RemotingCommand(0, body=b"\xff")
        if request.code == RequestCode5.CONTROLLER_GET_REPLICA_INFO
        else answer(request)
    )
    one.pass_time(300_000)
    assert len(warnings(one, "a controller's answer cannot be read")) == MAX_LINES
