"""Brokers under controllers, when requests between them are lost, late, doubled or reordered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import fakemq
from fakemq.events import RoleChanged
from fakemq.events.controller import (
    MasterElected,
    ReplicaInactive,
    ReplicaMoved,
    SyncStateSetChanged,
)
from fakemq.events.replication import InSyncSetTaken
from fakemq.ha.autoswitch.service import AutoSwitchHAService
from fakemq.protocol.v5.codes import RequestCode5

ONE, TWO, THREE = "broker-a@1", "broker-a@2", "broker-a@3"
ALTER = RequestCode5.CONTROLLER_ALTER_SYNC_STATE_SET
NOTIFY = RequestCode5.NOTIFY_BROKER_ROLE_CHANGED


def cluster(store: str | None = None) -> fakemq.Cluster:
    return fakemq.Cluster(
        slaves=2,
        controllers=1,
        clock="frozen",
        topics={"orders": 1},
        config={"allAckInSyncStateSet": True},
        store=store,
        seed=1,
    )


@pytest.fixture(scope="module")
def running() -> Iterator[fakemq.Cluster]:
    with cluster() as mq:
        yield mq


@pytest.fixture
def mq(running: fakemq.Cluster) -> fakemq.Cluster:
    running.reset()
    running.clock.advance("15s")  # slaves report, and all know the group
    return running


def roles(mq: fakemq.Cluster) -> list[tuple[str, int]]:
    return [(one.node, one.epoch) for one in mq.journal.find(RoleChanged) if one.epoch > 1]


def counted(mq: fakemq.Cluster) -> frozenset[int]:
    """The set that counts at the first node."""
    ha = mq.inspect(lambda core: core.brokers[ONE].ha)
    assert isinstance(ha, AutoSwitchHAService)
    return ha.sync_set.union


def test_set_whose_answer_is_late_counts_until_then(mq: fakemq.Cluster) -> None:
    late = mq.faults.delay(ALTER, "2s", node="controller-0", at="before_reply")
    mq.broker(THREE).kill()
    assert late.fired == 1
    assert counted(mq) == {1, 2}
    assert mq.journal.find(SyncStateSetChanged)[-1].sync_state_set == (1, 2), "the controller's"
    assert not mq.journal.find(InSyncSetTaken, set_epoch=4)
    mq.clock.advance("2s")
    (taken,) = mq.journal.find(InSyncSetTaken, set_epoch=4)
    assert taken.members == (1, 2)
    mq.clock.advance("30s")
    assert mq.group_of("broker-a").master == ONE


def test_lost_answer_to_a_set_costs_the_master_its_connection(mq: fakemq.Cluster) -> None:
    """The next poll brings the set. But a request without an answer closes the connection.

    Source: remoting/netty/NettyRemotingClient.java#invokeSync (5.5.0), clientCloseSocketIfTimeout
    """
    mq.faults.drop(ALTER, node="controller-0", at="before_reply")
    mq.broker(THREE).kill()
    mq.clock.advance("4s")
    (taken,) = mq.journal.find(InSyncSetTaken, set_epoch=4)
    assert taken.members == (1, 2)
    (dead,) = mq.journal.find(ReplicaInactive, broker_id=1)
    assert dead.why == "channel closed"
    assert mq.group_of("broker-a").master == TWO
    mq.clock.advance("40s")
    assert mq.group_of("broker-a").in_sync == (ONE, TWO)


def test_role_whose_push_is_lost_comes_with_the_next_poll(mq: fakemq.Cluster) -> None:
    lost = mq.faults.drop(NOTIFY, times=2)
    mq.broker(ONE).kill()
    (elected,) = mq.journal.find(MasterElected)
    assert (lost.fired, mq.group_of("broker-a").master) == (2, None)
    mq.clock.advance("5s")
    assert mq.group_of("broker-a").master == f"broker-a@{elected.broker_id}"


def test_old_master_that_continues_polls_before_it_answers(mq: fakemq.Cluster) -> None:
    mq.broker(ONE).pause()
    mq.clock.advance("16s")
    mq.broker(ONE).resume()
    nodes = mq.inspect(lambda core: list(core.brokers.values()))
    assert sum(not one.role.is_slave for one in nodes) == 1, "its overdue poll comes first"


def test_role_that_is_pushed_twice_changes_once(mq: fakemq.Cluster) -> None:
    doubled = mq.faults.duplicate(NOTIFY, 2, times=2)
    mq.broker(ONE).kill()
    assert doubled.fired == 2
    assert sorted(roles(mq)) == [(TWO, 2), (THREE, 2)]


def test_late_push_of_an_older_epoch_changes_nothing(mq: fakemq.Cluster) -> None:
    late = mq.faults.delay(NOTIFY, "4s", node=THREE)
    mq.broker(ONE).kill()
    mq.clock.advance("1s")
    assert mq.group_of("broker-a").master == TWO, "by the seed"
    mq.broker(TWO).kill()
    mq.broker(TWO).restart()
    mq.clock.advance("20s")
    before = mq.group_of("broker-a")
    assert late.fired == 1
    mq.clock.advance("10s")
    after = mq.group_of("broker-a")
    assert (after.master, after.epoch) == (before.master, before.epoch)
    epochs = [epoch for node, epoch in roles(mq) if node == THREE]
    assert epochs == sorted(epochs)


def test_sole_member_whose_heartbeats_are_lost_loses_its_group_for_some_seconds() -> None:
    with fakemq.Cluster(controllers=1, slaves=0, clock="frozen") as mq:
        silent = mq.faults.drop("BROKER_HEARTBEAT", always=True)
        mq.clock.advance("16s")
        silent.remove()
        elected = [one.broker_id for one in mq.journal.find(MasterElected)]
        assert elected[:4] == [1, None, None, None]
        mq.clock.advance("10s")
        group = mq.group_of("broker-a")
        assert group.master == ONE
        assert group.epoch > 4, "each try that found none has ended an epoch"


def test_slave_that_registers_before_the_new_master_waits_for_its_next_registration() -> None:
    with cluster() as mq:
        mq.clock.advance("15s")
        lagging = mq.faults.lag_registrations("2s", broker=TWO)
        assert mq.failover("broker-a").name == TWO, "by the seed"
        mq.clock.advance("9s")
        assert lagging.used
        assert mq.group_of("broker-a").in_sync == (TWO,), "its slave knows no HA address"
        mq.clock.advance("31s")
        assert mq.group_of("broker-a").in_sync == (TWO, THREE)


@pytest.mark.parametrize(
    ("text", "own_id"),
    [("DefaultCluster#broker-a#2", 2), ("damaged", 4)],
    ids=["copied", "damaged"],
)
def test_broker_is_whom_its_file_says(tmp_path: Path, text: str, own_id: int) -> None:
    """A copied identity is a replica that moves, a damaged one a replica with a new id."""
    with cluster(store=str(tmp_path)) as mq:
        mq.broker(THREE).stop()
        (tmp_path / THREE / "brokerIdentity").write_text(text)
        mq.broker(THREE).restart()
        mq.clock.advance("10s")
        assert mq.inspect(lambda core: core.brokers[THREE].config.broker_id) == own_id
        moved = mq.journal.find(ReplicaMoved, broker_addr=mq.broker(THREE).addr)
        assert [one.broker_id for one in moved] == ([2] if text != "damaged" else [])
