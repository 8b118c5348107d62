"""Snapshots of whole clusters, and clusters that begin with a copy of a store directory."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import fakemq
from fakemq.cli import main
from fakemq.client import Client, Message, PullStatus
from fakemq.clock.slices import finished
from fakemq.core.snapshots import Snapshot
from fakemq.errors import ConfigError
from fakemq.events import SnapshotRestored

JAVA_STORE = Path(__file__).parents[1] / "protocol" / "data" / "golden" / "store"
SMALL = {
    "mappedFileSizeCommitLog": "4096",
    "mappedFileSizeConsumeQueue": "200",
    "maxHashSlotNum": "50",
    "maxIndexNum": "40",
}


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory" if request.param == "memory" else str(tmp_path / "stores")


@pytest.fixture
def mq(store: str) -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        masters=2, topics={"orders": 2}, clock="frozen", store=store, config=SMALL
    ) as cluster:
        yield cluster


def bodies(mq: fakemq.Cluster, topic: str = "orders") -> list[bytes]:
    return [message.body for message in mq.messages(topic)]


def state(mq: fakemq.Cluster) -> Any:
    return (
        mq.topics(),
        [(message.body, message.queue_id, message.offset) for message in mq.messages("orders")],
        mq.queues("orders"),
        mq.group("billing").offsets("orders"),
        mq.delayed(),
    )


def commit(mq: fakemq.Cluster, offset: int, group: str = "billing") -> None:
    mq.inspect(lambda core: core.broker("broker-a").offsets.commit(group, "orders", 0, offset))


def test_restore_brings_back_the_former_state(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"%d" % number for number in range(60)], keys="k")
    mq.group("billing").set(retry_max_times=3)
    commit(mq, 5)
    before = state(mq)
    snap = mq.snapshot()
    assert snap.nodes == ["broker-a-0", "broker-b-0"]
    mq.seed("orders", [b"later"] * 40)
    mq.create_topic("other", 3)
    mq.seed("other", [b"x"])
    commit(mq, 9)
    mq.topic("orders").set_perm("R")
    mq.clock.advance("1h")
    now = mq.clock.now_ms()
    mq.restore(snap)
    assert state(mq) == before
    assert mq.clock.now_ms() == now
    assert "other" not in mq.topics()
    assert len(mq.journal.find(SnapshotRestored)) == 1
    mq.seed("orders", [b"again"])
    assert bodies(mq)[-1] == b"again"
    assert len(bodies(mq)) == 61


def test_snapshot_can_be_restored_repeatedly(mq: fakemq.Cluster) -> None:
    empty = mq.snapshot()
    mq.seed("orders", [b"a", b"b"])
    two = mq.snapshot()
    for _ in range(3):
        mq.seed("orders", [b"c"])
        mq.restore(two)
        assert sorted(bodies(mq)) == [b"a", b"b"]
        mq.restore(empty)
        assert bodies(mq) == []
    mq.reset()
    assert bodies(mq) == []
    mq.restore(two)
    assert sorted(bodies(mq)) == [b"a", b"b"]


def test_broker_that_was_down_is_in_the_snapshot_and_runs_after_restore(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"%d" % number for number in range(8)])
    mq.broker("broker-b").stop()
    snap = mq.snapshot()
    mq.broker("broker-a").pause()
    mq.restore(snap)
    assert [broker.state for broker in mq.brokers] == ["running", "running"]
    assert sorted(bodies(mq)) == [b"%d" % number for number in range(8)]


def test_connected_consumer_continues_at_the_restored_offset(mq: fakemq.Cluster) -> None:
    with Client(mq.namesrv_addr, consumer_group="billing") as client:
        queue = next(one for one in client.subscribe_queues("orders") if one.queue_id == 0)
        for number in range(4):
            client.send(Message("orders", f"{number}"), queue=queue)
        client.update_offset(queue, 2, oneway=False)
        snap = mq.snapshot()
        client.send(Message("orders", "later"), queue=queue)
        offset = client.pull(queue, 0).next_begin_offset
        assert offset == 5
        mq.restore(snap)
        client.send(Message("orders", "again"), queue=queue)
        again = client.pull(queue, offset)
        assert (again.status, again.next_begin_offset) == (PullStatus.NO_MATCHED_MSG, 2)
        found = client.pull(queue, 2).messages
        assert [message.body for message in found] == [b"2", b"3", b"again"]


def test_keys_and_delays_work_after_a_restore(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"a"], keys="one")
    snap = mq.snapshot()
    mq.seed("orders", [b"b"], keys="two")
    mq.restore(snap)

    def found(key: str) -> int:
        result = mq.inspect(
            lambda core: finished(
                core.broker("broker-a").store.query_message("orders", key, 9, 0, 1 << 60)
            )
        )
        return len(result.buffers)

    assert (found("one"), found("two")) == (1, 0)


def test_another_cluster_with_the_same_nodes_can_restore(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"a"])
    snap = mq.snapshot()
    with fakemq.Cluster(masters=2) as other:
        other.restore(snap)
        assert bodies(other) == [b"a"]
        other.seed("orders", [b"b"])
    wrong = "the snapshot is of broker-a-0, broker-b-0; the cluster has broker-a-0"
    with fakemq.Cluster() as one, pytest.raises(ConfigError, match=wrong):
        one.restore(snap)


def test_snapshot_has_the_configs_of_brokers_and_name_servers(mq: fakemq.Cluster) -> None:
    broker, server = mq.inspect(lambda core: (core.broker("broker-a"), core.name_servers[0]))

    def change(value: int) -> None:
        broker.config.max_message_size = value
        server.kv.put("N", "k", str(value))

    mq.inspect(lambda core: change(1000))
    snap = mq.snapshot()
    mq.inspect(lambda core: change(2000))
    mq.restore(snap)
    assert (broker.config.max_message_size, server.kv.get("N", "k")) == (1000, "1000")


def test_asynchronous_cluster_has_the_same_methods() -> None:
    async def run() -> list[bytes]:
        async with fakemq.AsyncCluster(topics={"orders": 1}) as mq:
            mq.seed("orders", [b"a"])
            snap = mq.snapshot()
            mq.seed("orders", [b"b"])
            mq.restore(snap)
            return [message.body for message in mq.messages("orders")]

    assert asyncio.run(run()) == [b"a"]


def test_snapshot_survives_a_power_failure_of_its_cluster(tmp_path: Path) -> None:
    with fakemq.Cluster(store=tmp_path / "s", topics={"orders": 1}, clock="frozen") as mq:
        mq.seed("orders", [b"a"])
        snap = mq.snapshot()
        mq.seed("orders", [b"b"])
        mq.restore(snap)
        mq.broker("broker-a").kill(lose_unsynced=True)
        mq.broker("broker-a").restart()
        assert bodies(mq) == [b"a"]


# -- beginning with a copy ----------------------------------------------------------------------


def digest(root: Path) -> list[tuple[str, int, bytes]]:
    return [
        (str(path.relative_to(root)), path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file()
    ]


def test_cluster_starts_with_a_copy_of_a_real_brokers_store(store: str) -> None:
    before = digest(JAVA_STORE)
    with fakemq.Cluster(store_from=JAVA_STORE, store=store, clock="frozen") as mq:
        golden = mq.messages("Golden")
        assert len(golden) > 3
        assert mq.group("GGolden").offsets("Golden") == {("broker-a", 0): 3}
        result = mq.inspect(
            lambda core: finished(
                core.broker("broker-a").store.query_message("Golden", "k1", 9, 0, 1 << 60)
            )
        )
        assert result.buffers
        mq.seed("Golden", [b"more"])
        assert len(mq.messages("Golden")) == len(golden) + 1
        mq.reset()
        assert [message.body for message in mq.messages("Golden")] == [
            message.body for message in golden
        ]
    assert digest(JAVA_STORE) == before


def test_cluster_starts_with_a_copy_of_another_clusters_store(tmp_path: Path) -> None:
    stores = tmp_path / "stores"
    options: dict[str, Any] = {"masters": 2, "clock": "frozen"}
    with fakemq.Cluster(store=stores, topics={"orders": 2}, config=SMALL, **options) as mq:
        mq.seed("orders", [b"%d" % number for number in range(60)])
        commit(mq, 4)
        mq.broker("broker-b").kill()  # a copy of what a crash left is as good
        shutil.copytree(stores, tmp_path / "copy")
        expected = [b"%d" % number for number in range(60)]
    for left in (stores, tmp_path / "copy"):
        before = digest(left)
        with fakemq.Cluster(store_from=left, **options) as mq:
            assert sorted(bodies(mq)) == sorted(expected)
            mq.seed("orders", [b"more"])
        assert digest(left) == before


def test_invalid_copy_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such directory"):
        fakemq.Cluster(store_from=tmp_path / "nowhere").start()
    for name in ("broker-a-0", "broker-b-0"):
        shutil.copytree(JAVA_STORE, tmp_path / "two" / name)
    with pytest.raises(
        ConfigError, match="has stores of broker-a-0, broker-b-0; the brokers are broker-a-0"
    ):
        fakemq.Cluster(store_from=tmp_path / "two").start()
    with pytest.raises(ConfigError, match="two/broker-a-0 has a store already; begin with an"):
        fakemq.Cluster(store=tmp_path / "two", store_from=JAVA_STORE).start()


def test_command_line_takes_a_copy_too() -> None:
    result = CliRunner().invoke(
        main,
        ["serve", "--store-from", "/nowhere/at/all", "--broker-port", "0", "--namesrv-port", "0"],
    )
    assert result.exit_code == 2
    assert result.stderr == "Error: /nowhere/at/all: there is no such directory\n"


def test_repr_shows_nodes_and_size() -> None:
    with fakemq.Cluster(topics={"orders": 1}) as mq:
        mq.seed("orders", [b"x" * 1000])
        snap = mq.snapshot()
    assert isinstance(snap, Snapshot)
    assert snap.size_bytes > 1000
    assert repr(snap) == f"<snapshot of broker-a-0, {snap.size_bytes} bytes>"


def test_sparse_files_of_default_sizes_are_copied_completely(
    tmp_path: Path,
) -> None:
    wanted = [b"%d" % number for number in range(300)]
    first = str(tmp_path / "first")
    with fakemq.Cluster(store=first, topics={"orders": 1}, clock="frozen") as mq:
        mq.seed("orders", wanted)
        mq.broker("broker-a").stop()
        snap = mq.snapshot()
        mq.broker("broker-a").restart()
        mq.seed("orders", [b"later"])
        mq.restore(snap)
        assert bodies(mq) == wanted
    with fakemq.Cluster(store_from=first, clock="frozen") as mq:
        assert bodies(mq) == wanted


def test_log_in_another_folder_is_copied(tmp_path: Path) -> None:
    root, log = tmp_path / "root", tmp_path / "log"
    config = {**SMALL, "storePathRootDir": str(root), "storePathCommitLog": str(log)}
    with fakemq.Cluster(topics={"orders": 1}, clock="frozen", config=config) as mq:
        mq.seed("orders", [b"a", b"b"])
        mq.broker("broker-a").stop()
        snap = mq.snapshot()
        mq.broker("broker-a").restart()
        mq.restore(snap)
        assert bodies(mq) == [b"a", b"b"]
    with pytest.raises(ConfigError, match="root: it has consume queues and no commit log"):
        fakemq.Cluster(store_from=str(root), clock="frozen").start()
    (root / "commitlog").symlink_to(log)
    with fakemq.Cluster(store_from=str(root), clock="frozen") as mq:
        assert bodies(mq) == [b"a", b"b"]


def test_log_in_several_folders_is_copied(tmp_path: Path) -> None:
    root, logs = tmp_path / "root", [tmp_path / "a", tmp_path / "b"]
    config = {
        "mappedFileSizeCommitLog": "65536",
        "storePathRootDir": str(root),
        "storePathCommitLog": ",".join(map(str, logs)),
    }
    with fakemq.Cluster(topics={"orders": 1}, clock="frozen", config=config) as mq:
        mq.seed("orders", [bytes([65 + number]) * 30_000 for number in range(4)])
        wanted = bodies(mq)
    assert all(any(log.iterdir()) for log in logs)
    source = ",".join(map(str, (root, *logs)))
    with fakemq.Cluster(store_from=source, clock="frozen") as mq:
        assert bodies(mq) == wanted
    with pytest.raises(ConfigError, match="nowhere: there is no such directory"):
        fakemq.Cluster(store_from=f"{root},{tmp_path}/nowhere").start()


def test_restore_refuses_other_objects() -> None:
    with fakemq.Cluster() as mq, pytest.raises(ConfigError, match="expected a result of snapshot"):
        mq.restore(5)  # type: ignore[arg-type]
