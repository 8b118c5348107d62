"""Groups of replicas under controllers: elections, fail-overs, the set in sync, stale masters."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemq.config.spec import broker_spec, cluster_spec
from fakemq.core.replicas import group_of
from fakemq.errors import ConfigError, NotYetSupported
from fakemq.events.core import HandlerFailed, NodeStopped, RoleChanged, Warned
from fakemq.protocol.codes import ResponseCode
from tests.support.peer import Answer
from tests.support.replica_group import NAME, Replicas

ONE, TWO, THREE = (f"{NAME}@{number}" for number in (1, 2, 3))
OK = ResponseCode.SUCCESS


@pytest.fixture
def replicas() -> Replicas:
    return Replicas()


def epoch(replicas: Replicas) -> int:
    return replicas.group.epoch


def master(replicas: Replicas) -> str | None:
    return replicas.group.master


def in_sync(replicas: Replicas) -> list[str]:
    return list(replicas.group.in_sync)


def code_of(answer: Answer) -> int | None:
    return None if answer.response is None else answer.response.code


def settled(replicas: Replicas) -> None:
    """Let all replicas come into the set."""
    replicas.core.advance(15_000)
    assert set(replicas.group.in_sync) == {ONE, TWO, THREE}


def test_cluster_starts_with_a_master_and_all_in_sync(replicas: Replicas) -> None:
    group = replicas.group
    assert (group.master, group.epoch) == (ONE, 1)
    assert group.in_sync == group.replicas == (ONE, TWO, THREE)
    assert [replicas.node(number).config.broker_id for number in (1, 2, 3)] == [0, 2, 3]
    assert replicas.routed() == {
        0: replicas.node(1).addr,
        2: replicas.node(2).addr,
        3: replicas.node(3).addr,
    }
    assert replicas.core.broker(NAME) is replicas.node(1)


def test_acknowledged_message_is_on_every_replica_in_sync(replicas: Replicas) -> None:
    assert replicas.sent(b"a") == OK
    assert replicas.group.confirm_offset == replicas.master.store.max_phy_offset > 0
    ends = {replicas.node(number).store.max_phy_offset for number in (1, 2, 3)}
    assert len(ends) == 1


def test_killed_master_is_replaced_without_a_loss(replicas: Replicas) -> None:
    settled(replicas)
    assert replicas.sent(b"a") == OK
    replicas.core.advance(5_000)
    replicas.kill(1)
    group = replicas.group  # no time has passed
    assert (group.master, group.epoch) in ((TWO, 2), (THREE, 2))
    assert group.in_sync == (group.master,)
    assert replicas.routed()[0] == replicas.master.addr
    assert replicas.sent(b"b") == OK
    number = int(str(group.master)[-1])
    assert replicas.bodies(number) == [b"a", b"b"]


def test_killed_master_comes_back_as_a_slave(replicas: Replicas) -> None:
    settled(replicas)
    replicas.sent(b"a")
    replicas.core.advance(6_000)  # slaves know the epoch
    replicas.kill(1)
    replicas.sent(b"b")
    replicas.start(1)
    replicas.core.advance(40_000)
    assert replicas.node(1).role.name == "SLAVE"
    assert replicas.node(1).config.broker_id == 1
    assert set(replicas.group.in_sync) == {ONE, TWO, THREE}
    assert replicas.bodies(1) == [b"a", b"b"]


def test_fail_over_of_an_empty_log_leaves_no_replica_behind(replicas: Replicas) -> None:
    replicas.kill(1)  # no message and no time has passed
    replicas.start(1)
    replicas.core.advance(45_000)
    assert set(replicas.group.in_sync) == {ONE, TWO, THREE}
    assert replicas.sent(b"a") == OK
    replicas.core.advance(6_000)  # it learns that all have it
    assert replicas.bodies(1) == [b"a"]


def test_change_of_role_says_what_caused_it(replicas: Replicas) -> None:
    journal = replicas.core.journal
    replicas.kill(1)
    (entry,) = [
        one
        for one in journal
        if isinstance(one.event, RoleChanged) and one.event.role == "SYNC_MASTER"
    ][1:]
    chain = [type(one.event) for one in journal.cause_chain(entry)]
    assert NodeStopped in chain
    assert journal.find(HandlerFailed) == []


def test_silent_master_is_replaced_after_its_time(replicas: Replicas) -> None:
    settled(replicas)
    old = replicas.node(1)
    old.pause()
    replicas.core.advance(9_000)
    assert epoch(replicas) == 1
    assert replicas.routed()[0] == old.addr  # it hangs, and stays in the routes
    replicas.core.advance(7_000)
    group = replicas.group
    assert (group.epoch, group.master) in ((2, TWO), (2, THREE))
    assert replicas.routed()[0] == replicas.master.addr
    old.resume()
    replicas.core.network.settle()
    assert replicas.node(1).role.is_slave
    assert replicas.sent(b"x", old) == ResponseCode.SYSTEM_BUSY
    replicas.core.advance(40_000)
    assert ONE in replicas.group.in_sync


def test_stale_master_cannot_take_its_id_back(replicas: Replicas) -> None:
    settled(replicas)
    old = replicas.node(1)
    old.pause()
    replicas.core.advance(16_000)
    assert replicas.core.broker(NAME) is not old
    replicas.manager(1).stop()  # it does not learn that another one leads
    old.resume()
    replicas.core.advance(60_000)
    assert old.role.name == "SYNC_MASTER"
    assert replicas.routed()[0] == replicas.master.addr != old.addr


def test_set_shrinks_after_a_silence_and_grows_again(replicas: Replicas) -> None:
    settled(replicas)
    replicas.node(3).pause()
    replicas.core.advance(10_000)
    assert THREE in replicas.group.in_sync
    answer = replicas.send(b"a")
    assert code_of(answer) is None  # it waits for the one that is silent
    replicas.core.advance(4_000)
    assert code_of(answer) == ResponseCode.FLUSH_SLAVE_TIMEOUT
    replicas.core.advance(15_000)
    assert in_sync(replicas) == [ONE, TWO]
    assert replicas.sent(b"b") == OK
    replicas.node(3).resume()
    replicas.core.advance(40_000)
    assert in_sync(replicas) == [ONE, TWO, THREE]
    assert replicas.bodies(3) == [b"a", b"b"]


def test_killed_slave_leaves_the_set_at_once(replicas: Replicas) -> None:
    settled(replicas)
    replicas.kill(2)
    assert replicas.group.in_sync == (ONE, THREE)
    assert replicas.sent(b"a") == OK


def test_only_a_member_of_the_last_set_is_elected(replicas: Replicas) -> None:
    settled(replicas)
    replicas.kill(2)
    replicas.kill(3)
    assert replicas.group.in_sync == (ONE,)
    replicas.sent(b"a")
    replicas.kill(1)
    replicas.start(2)
    replicas.core.advance(20_000)
    assert master(replicas) is None
    assert replicas.node(2).role.fenced
    assert replicas.sent(b"x", replicas.node(2)) == ResponseCode.SERVICE_NOT_AVAILABLE
    replicas.start(1)
    replicas.core.advance(10_000)
    assert master(replicas) == ONE
    assert replicas.bodies(1) == [b"a"]


def test_two_groups_elect_each_its_own() -> None:
    replicas = Replicas(masters=2, slaves=1)
    core = replicas.core
    assert [group_of(core.brokers, name).master for name in ("broker-a", "broker-b")] == [
        "broker-a@1",
        "broker-b@1",
    ]
    core.brokers["broker-b@1"].kill()
    core.network.settle()
    assert group_of(core.brokers, "broker-b").master == "broker-b@2"
    assert group_of(core.brokers, "broker-a").epoch == 1


def test_reset_begins_with_the_first_master_again(replicas: Replicas) -> None:
    settled(replicas)
    replicas.sent(b"a")
    replicas.kill(1)
    replicas.start(1)
    replicas.core.advance(40_000)
    replicas.core.reset()
    group = replicas.group
    assert (group.master, group.epoch) == (ONE, 1)
    assert group.in_sync == (ONE, TWO, THREE)
    assert replicas.bodies(1) == []
    assert replicas.sent(b"b") == OK
    begun = Replicas()
    assert begun.sent(b"b") == OK
    for one in (begun, replicas):
        one.kill(1)
    assert replicas.group == begun.group, "what was before the reset decides no election"


def test_reset_forgets_which_replica_was_ahead(replicas: Replicas) -> None:
    settled(replicas)
    for number in (1, 2):
        replicas.kill(number)
        replicas.core.advance(10_000)
        replicas.send(b"a")
        replicas.core.advance(30_000)
    assert master(replicas) == THREE, "it has the last epoch, and the longest log"
    for number in (1, 2):
        replicas.start(number)
        replicas.core.advance(5_000)
    replicas.core.reset()
    replicas.kill(1)
    assert master(replicas) == TWO


def test_replicas_keep_their_ids_in_their_directories(tmp_path: Path) -> None:
    replicas = Replicas(store=tmp_path)
    replicas.sent(b"a")
    replicas.core.advance(6_000)
    assert (tmp_path / TWO / "brokerIdentity").read_bytes() == b"DefaultCluster#broker-a#2"
    assert (tmp_path / ONE / "epochFileCheckpoint").exists()
    replicas.core.stop()
    again = Replicas(store=tmp_path)
    assert [again.manager(number).own_id for number in (1, 2, 3)] == [1, 2, 3]
    again.core.advance(40_000)
    assert again.bodies(1) == [b"a"]
    again.core.stop()


def test_replicas_of_lost_controllers_say_which_file_to_delete(tmp_path: Path) -> None:
    for _ in range(2):  # each end elects others
        first = Replicas(store=tmp_path)
        assert first.sent(b"a") == OK
        first.core.advance(16_000)
        first.core.stop()
    (tmp_path / "controllers" / "events.jsonl").unlink()
    for name in (ONE, TWO, THREE):
        (tmp_path / name / "brokerIdentity").unlink()
    lost = Replicas(store=tmp_path, topics={})
    lost.core.advance(20_000)
    assert all(lost.node(number).role.fenced for number in (1, 2, 3))
    said = [event.text for event in lost.core.journal.find(Warned)]
    assert any("at epoch 1, epochFileCheckpoint at 6: they have lost" in text for text in said)
    lost.core.stop()
    for name in (ONE, TWO, THREE):
        (tmp_path / name / "epochFileCheckpoint").unlink()
    again = Replicas(store=tmp_path)
    assert again.sent(b"b") == OK
    again.core.advance(20_000)
    assert all(again.bodies(number) == [b"a", b"a", b"b"] for number in (1, 2, 3))
    again.core.stop()


def test_many_fail_overs_leave_no_timers_behind(replicas: Replicas) -> None:
    settled(replicas)
    replicas.sent(b"a")
    replicas.core.advance(40_000)
    counts = []
    for _ in range(6):
        number = int(str(replicas.group.master)[-1])
        replicas.kill(number)
        assert replicas.sent(b"b") == OK
        replicas.start(number)
        replicas.core.advance(45_000)
        assert set(replicas.group.in_sync) == {ONE, TWO, THREE}
        counts.append(len(list(replicas.core.clock.timers())))
    assert replicas.group.epoch == 7
    assert max(counts) - min(counts) <= 3


# -- what is refused ----------------------------------------------------------------------------


def test_group_without_controllers_is_none() -> None:
    replicas = Replicas(controllers=0, slaves=0, reference="5.5.0", config=())
    with pytest.raises(LookupError, match="a group of replicas needs controllers"):
        group_of(replicas.core.brokers, NAME)


def test_controller_mode_needs_controllers() -> None:
    mode = {"enableControllerMode": "true"}
    with pytest.raises(ConfigError, match="expected controllers=1"):
        cluster_spec(reference="5.5.0", config=mode)
    with pytest.raises(ConfigError, match="needs controllerAddr"):
        broker_spec(mode, reference="5.5.0")
    with pytest.raises(NotYetSupported, match="enableControllerMode=true"):
        cluster_spec(reference="5.3.2", config=mode)


def test_broker_joins_controllers_elsewhere() -> None:
    mode = {
        "enableControllerMode": "true",
        "controllerAddr": "10.0.0.1:9870",
        "brokerRole": "SLAVE",
    }
    (config,) = broker_spec(mode, reference="5.5.0").broker_configs
    assert config.node_name.endswith("@1")
