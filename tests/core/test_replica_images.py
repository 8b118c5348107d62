"""Snapshots of clusters with controllers: roles, epochs, sets, ids, the leader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fakemq
from fakemq.core.snapshots import Snapshot
from fakemq.errors import ConfigError, FakemqError, StoreError
from fakemq.events.controller import MasterElected
from fakemq.events.core import HandlerFailed
from fakemq.events.replication import LogTruncated
from fakemq.handles.faults import Fault

ONE, TWO, THREE = "broker-a@1", "broker-a@2", "broker-a@3"


def cluster(store: str | None = None, controllers: int = 3) -> fakemq.Cluster:
    return fakemq.Cluster(
        slaves=2,
        controllers=controllers,
        clock="frozen",
        topics={"orders": 1},
        config={"allAckInSyncStateSet": True},
        seed=1,
        store=store,
    )


@pytest.fixture(scope="module")
def running() -> Iterator[fakemq.Cluster]:
    with cluster() as mq:
        yield mq


@pytest.fixture
def mq(running: fakemq.Cluster) -> fakemq.Cluster:
    running.reset()
    return running


def state(mq: fakemq.Cluster) -> Any:
    leader = mq.controllers.leader
    return (
        mq.group_of("broker-a"),
        None if leader is None else leader.name,
        [one.body for one in mq.messages("orders")],
        mq.inspect(lambda core: core.controllers and core.controllers.group.kept()),
        mq.inspect(lambda core: {n: b.replicas.own_id for n, b in core.brokers.items()}),  # type: ignore[attr-defined]
        mq.inspect(
            lambda core: {n: b.replication().epochs.entries for n, b in core.brokers.items()}  # type: ignore[attr-defined]
        ),
    )


def begun(mq: fakemq.Cluster) -> None:
    """Have a second epoch with all in sync, and a second leader."""
    mq.producer().send("orders", b"first")
    mq.clock.advance("10s")
    mq.failover("broker-a")
    mq.broker(ONE).restart()
    mq.controllers.depose()
    mq.clock.advance("45s")
    mq.seed("orders", [b"second"])
    mq.clock.advance("45s")
    assert len(mq.group_of("broker-a").in_sync) == 3
    assert mq.controllers.leader not in (None, mq.controllers[0])


@pytest.mark.parametrize("since", ["nothing", "messages", "fail-over", "lost log", "reset"])
def test_restored_group_is_as_it_was(mq: fakemq.Cluster, since: str) -> None:
    begun(mq)
    snapshot, before = mq.snapshot(), state(mq)
    if since == "messages":
        mq.seed("orders", [b"later"] * 3)
    elif since == "fail-over":
        mq.failover("broker-a")
        mq.seed("orders", [b"later"])
        mq.controllers.depose()
        mq.clock.advance("1m")
    elif since == "lost log":
        mq.controllers.forget()
        mq.clock.advance("20s")
    elif since == "reset":
        mq.reset()
    elections = len(mq.journal.find(MasterElected))
    mq.restore(snapshot)
    assert state(mq) == before
    assert len(mq.journal.find(MasterElected)) == elections, "it is no election"
    assert not mq.journal.find(HandlerFailed)
    mq.seed("orders", [b"third"])
    mq.clock.advance("1m")
    assert mq.group_of("broker-a").in_sync == (ONE, TWO, THREE)
    assert [one.body for one in mq.messages("orders")] == [b"first", b"second", b"third"]
    new = mq.failover("broker-a")
    assert mq.group_of("broker-a").epoch == 3
    assert new.name in (ONE, THREE)
    assert [one.body for one in mq.messages("orders")] == [b"first", b"second", b"third"]


def test_snapshot_restores_into_another_cluster_and_into_directories(
    mq: fakemq.Cluster, tmp_path: Path
) -> None:
    begun(mq)
    snapshot, group = mq.snapshot(), mq.group_of("broker-a")
    with cluster(str(tmp_path)) as other:
        other.restore(snapshot)
        assert other.group_of("broker-a") == group
        assert not other.journal.find(LogTruncated)
    with cluster(str(tmp_path)) as again:
        again.clock.advance("1m")
        assert [one.body for one in again.messages("orders")] == [b"first", b"second"]
        assert again.group_of("broker-a").epoch > group.epoch, "each end elects another"


def test_snapshot_fits_other_numbers_of_controllers_but_not_none(mq: fakemq.Cluster) -> None:
    with cluster(controllers=1) as one:
        few = one.snapshot()
    mq.restore(few)
    assert mq.group_of("broker-a").in_sync == (ONE, TWO, THREE)
    images, tables = few._brokers, few._name_servers
    with pytest.raises(ConfigError, match="a cluster without controllers; this is one with"):
        mq.restore(Snapshot(images, tables))


@pytest.mark.parametrize(
    "place",
    [
        lambda mq: mq.faults.partition("broker-a", "controllers", must_fire=False),
        lambda mq: mq.faults.partition(TWO, "others", must_fire=False),
        lambda mq: mq.faults.hold("controller-1", THREE, must_fire=False),
        lambda mq: mq.faults.latency("brokers", "controllers", "1s", must_fire=False),
        lambda mq: mq.faults.drop("CONTROLLER_REGISTER_BROKER", on_call=3, must_fire=False),
        lambda mq: mq.faults.error(
            "CONTROLLER_GET_METADATA_INFO",
            code="SYSTEM_ERROR",
            node="controller-0",
            must_fire=False,
        ),
    ],
)
def test_restore_under_a_fault_of_controllers_is_refused(
    mq: fakemq.Cluster, place: Callable[[fakemq.Cluster], Fault]
) -> None:
    snapshot, before = mq.snapshot(), state(mq)
    mq.seed("orders", [b"later"])
    fault = place(mq)
    with pytest.raises(ConfigError, match="keeps brokers from") as refused:
        mq.restore(snapshot)
    assert f"fault 1 ({fault.what})" in str(refused.value)
    assert [one.body for one in mq.messages("orders")] == [b"later"], "nothing has changed"
    fault.remove()
    mq.restore(snapshot)
    assert state(mq) == before


def test_restore_under_a_fault_beside_controllers_is_none_of_their_business(
    mq: fakemq.Cluster,
) -> None:
    snapshot, before = mq.snapshot(), state(mq)
    mq.partition(ONE, TWO)
    mq.faults.slice("brokers", "controllers", must_fire=False)
    mq.faults.drop("SEND_MESSAGE", must_fire=False)
    mq.restore(snapshot)
    assert mq.group_of("broker-a").master == before[0].master
    assert mq.group_of("broker-a").epoch == before[0].epoch


@pytest.mark.parametrize("then", ["no leader", "a leader without majority"])
def test_restore_has_a_leader_even_if_none_leads(mq: fakemq.Cluster, then: str) -> None:
    mq.controllers.depose()
    snapshot = mq.snapshot()
    assert state(mq)[1] is None
    if then != "no leader":
        mq.reset()
        mq.partition("controller-0", "controller-1")
        mq.partition("controller-0", "controller-2")
    mq.restore(snapshot)
    assert mq.controllers.leader is not None
    assert mq.group_of("broker-a").master == ONE
    assert mq.group_of("broker-a").epoch == 1


def test_restored_master_that_does_not_lead_is_an_error(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fakemq.broker.v5.replicas.manager import ReplicasManager

    snapshot = mq.snapshot()
    monkeypatch.setattr(ReplicasManager, "start", lambda self: self.fence())
    with pytest.raises(FakemqError, match=f"{ONE} did not become the master of epoch 1"):
        mq.restore(snapshot)
    monkeypatch.undo()
    mq.reset()
    assert mq.group_of("broker-a").master == ONE


def test_restore_forgets_why_a_later_master_was_elected(mq: fakemq.Cluster) -> None:
    snapshot = mq.snapshot()
    mq.clock.advance("10s")
    mq.failover("broker-a")
    mq.restore(snapshot)
    assert mq.inspect(lambda core: core.controllers and core.controllers.group.elections) == {}


def test_full_disk_of_the_log_changes_nothing(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fakemq.controller.group import ControllerGroup

    def refuse(*_: object) -> None:
        raise StoreError("events.jsonl: could not be written: No space left on device")

    snapshot = mq.snapshot()
    mq.seed("orders", [b"later"])
    before = state(mq)
    monkeypatch.setattr(ControllerGroup, "commit", refuse)
    with pytest.raises(StoreError, match="No space left"):
        mq.restore(snapshot)
    monkeypatch.undo()
    assert state(mq) == before
    mq.clock.advance("1m")
    assert state(mq) == before, "all serve as they did"


def test_unreadable_identity_is_no_snapshot(tmp_path: Path) -> None:
    with cluster(str(tmp_path), controllers=1) as mq:
        (file,) = [one for one in tmp_path.rglob("brokerIdentity") if ONE in str(one)]
        file.unlink()
        file.mkdir()
        with pytest.raises(StoreError, match="brokerIdentity: "):
            mq.snapshot()
        file.rmdir()
