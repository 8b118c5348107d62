"""Timers outlive stops, kills, crashes, resets and snapshots."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import fakemq
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.timers import TIMER_TOPIC
from fakemq.store.inner_message import inner_message
from fakemq.store.timer.wheel import SLOTS
from tests.support.broker_lab import broker5
from tests.support.timer_lab import SECOND_MS, TimerLab

SMALL: dict[str, object] = {
    "flushDiskType": "SYNC_FLUSH",
    "mappedFileSizeCommitLog": "65536",
    "mappedFileSizeConsumeQueue": "2000",
    "maxHashSlotNum": "50",
    "maxIndexNum": "400",
    "mappedFileSizeTimerLog": "200",
}
HOUR_MS = 3_600_000


def small_cluster(
    store: str = "memory",
    *,
    store_from: str | None = None,
    start_at: datetime | None = None,
    seed: int | None = None,
    config: dict[str, object] | None = None,
) -> fakemq.Cluster:
    return fakemq.Cluster(
        reference="5.5.0",
        topics={"orders": 1},
        clock="frozen",
        config=SMALL | (config or {}),
        store=store,
        store_from=store_from,
        start_at=start_at,
        seed=seed,
    )


@pytest.fixture(params=["memory", "directory"])
def mq(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[fakemq.Cluster]:
    store = "memory" if request.param == "memory" else str(tmp_path)
    with small_cluster(store=store) as cluster:
        yield cluster


def send(mq: fakemq.Cluster, key: str, delay_s: int, **more: str) -> None:
    properties = {"UNIQ_KEY": key, "TIMER_DELAY_SEC": str(delay_s), **more}
    text = encode_properties_as_java(properties)
    message = inner_message("orders", 0, key.encode(), properties, text)
    mq.inspect(lambda core: core.broker("broker-a").put(message).ok)


def bodies(mq: fakemq.Cluster, topic: str = "orders") -> list[bytes]:
    return [message.body for message in mq.messages(topic)]


def waiting(mq: fakemq.Cluster) -> int:
    return mq.inspect(lambda core: broker5(core.broker("broker-a")).timers.metrics.count("orders"))


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_timers_continue_after_a_restart(mq: fakemq.Cluster, how: str) -> None:
    for key, delay_s in (("a", 2), ("b", 30), ("c", 5), ("d", 30)):
        send(mq, key, delay_s)
    mq.clock.advance("7s")
    assert bodies(mq) == [b"a", b"c"]
    broker = mq.broker("broker-a")
    broker.stop() if how == "stop" else broker.kill()
    mq.clock.advance("10s")
    broker.restart()
    assert waiting(mq) == 2
    send(mq, "e", 1)
    mq.clock.advance("3s")
    assert bodies(mq) == [b"a", b"c", b"e"]
    mq.clock.advance("15s")
    assert bodies(mq) == [b"a", b"c", b"e", b"b", b"d"]


@pytest.mark.parametrize(("later", "delivered"), [("0s", [b"a", b"a"]), ("1s", [b"a"])])
def test_kill_repeats_what_was_delivered_since_the_last_flush(
    tmp_path: Path, later: str, delivered: list[bytes]
) -> None:
    # A Java broker did so in 5 kills: what it delivered up to a second before each came again.
    with small_cluster(store=str(tmp_path)) as mq:
        send(mq, "a", 5)
        mq.clock.advance_to_next("timer")
        mq.clock.advance(later)
        mq.broker("broker-a").kill()
        mq.broker("broker-a").restart()
        mq.clock.advance("5s")
        assert bodies(mq) == delivered


@pytest.mark.parametrize("seed", [3, 4, 5])  # which pages survive
def test_power_failure_takes_no_delivery_that_is_noted(tmp_path: Path, seed: int) -> None:
    config: dict[str, object] = {
        "flushIntervalCommitLog": 60_000,
        "flushCommitLogThoroughInterval": 60_000,
    }
    with small_cluster(store=str(tmp_path), config=config, seed=seed) as mq:
        send(mq, "a", 5)
        mq.clock.advance("8s")
        assert bodies(mq) == [b"a"]
        mq.broker("broker-a").kill(lose_unsynced=True)
        mq.broker("broker-a").restart()
        mq.clock.advance("5s")
        assert bodies(mq) == [b"a"]


def test_kill_repeats_nothing_that_has_just_come(tmp_path: Path) -> None:
    # Differs: of a Java broker, what came since its last flush is delivered twice.
    with small_cluster(store=str(tmp_path)) as mq:
        send(mq, "a", 30)
        mq.clock.advance("5s")
        send(mq, "b", 30)
        mq.broker("broker-a").kill()
        mq.broker("broker-a").restart()
        mq.clock.advance("1m")
        assert bodies(mq) == [b"a", b"b"]


def test_start_delivers_what_became_due_before(mq: fakemq.Cluster) -> None:
    send(mq, "a", 60)
    mq.broker("broker-a").stop()
    mq.clock.advance("1h")
    mq.broker("broker-a").restart()
    mq.clock.advance("1s")
    assert bodies(mq) == [b"a"]


def test_reset_forgets_all_timers(mq: fakemq.Cluster) -> None:
    send(mq, "a", 5)
    mq.reset()
    mq.clock.advance("10s")
    assert bodies(mq) == []
    assert waiting(mq) == 0
    send(mq, "b", 5)
    mq.clock.advance("10s")
    assert bodies(mq) == [b"b"]


def test_snapshot_has_the_timers(mq: fakemq.Cluster) -> None:
    send(mq, "a", 2)
    send(mq, "b", 30)
    mq.clock.advance("5s")
    snapshot = mq.snapshot()
    send(mq, "c", 5)
    mq.clock.advance("10s")
    assert bodies(mq) == [b"a", b"c"]
    mq.restore(snapshot)
    assert bodies(mq) == [b"a"]
    assert waiting(mq) == 1
    mq.clock.advance("40s")
    assert bodies(mq) == [b"a", b"b"]


def test_new_cluster_begins_with_the_timers_of_a_directory(tmp_path: Path) -> None:
    with small_cluster(store=str(tmp_path / "first")) as first:
        send(first, "a", 2)
        send(first, "b", 3600)
        first.clock.advance("5s")
        now_ms = first.clock.now_ms()
    with small_cluster(
        store_from=str(tmp_path / "first"), start_at=datetime.fromtimestamp(now_ms / 1000, UTC)
    ) as second:
        assert bodies(second) == [b"a"]
        second.clock.advance("1h")
        assert bodies(second) == [b"a", b"b"]


def test_crash_loses_no_message(tmp_path: Path) -> None:
    for seed in range(20):
        with small_cluster(store=str(tmp_path / str(seed)), seed=seed) as mq:
            for number in range(12):
                send(mq, str(number), 1 + number % 4)
                mq.clock.advance("300ms")
            mq.broker("broker-a").kill(lose_unsynced=True)
            mq.broker("broker-a").restart()
            mq.clock.advance("10s")
            assert set(bodies(mq)) == {str(number).encode() for number in range(12)}, seed


def test_files_are_as_java_writes_them(tmp_path: Path) -> None:
    with small_cluster(store=str(tmp_path)) as mq:
        now_ms = mq.clock.now_ms()
        send(mq, "a", 5)
        send(mq, "b", 5, TIMER_DEL_UNIQKEY="a")
        send(mq, "c", 200_000)
        send(mq, "d", 5)
    write_ms = now_ms // 1000 * 1000
    slot_ms = (now_ms + 4_999) // 1000 * 1000
    root = tmp_path / "broker-a-0"
    if not root.exists():
        [root] = tmp_path.iterdir()
    log = b"".join(path.read_bytes() for path in sorted((root / "timerlog").iterdir()))
    units = [struct.unpack_from(">iqiqi", log, at) for at in (0, 52, 104, 200)]
    delay_ms = slot_ms - write_ms
    assert units == [
        (52, -1, 1, write_ms, delay_ms),
        (52, 0, 5, write_ms, delay_ms),
        (52, -1, 3, write_ms, 24 * HOUR_MS),
        (52, 52, 1, write_ms, delay_ms),
    ]
    wheel = (root / "timerwheel").read_bytes()
    assert len(wheel) == 38_707_200
    at = slot_ms // 1000 % (2 * SLOTS) * 32
    assert struct.unpack_from(">qqqii", wheel, at) == (slot_ms // 1000, 0, 200, 1, 0)
    check = (root / "config" / "timercheck").read_bytes()
    assert len(check) == 4096
    read_ms, log_end, offset, master_offset = struct.unpack_from(">4q", check)
    assert (read_ms, log_end, offset, master_offset) == (write_ms, 252, 4, 4)
    metrics = (root / "config" / "timermetrics").read_text()
    assert metrics == (
        f'{{"dataVersion":{{"counter":4,"stateVersion":0,"timestamp":{now_ms}}},'
        f'"timingCount":{{"orders":{{"count":2,"timeStamp":{now_ms}}}}}}}'
    )


def test_slave_keeps_units_and_delivers_nothing() -> None:
    lab = TimerLab(broker_role="SLAVE", broker_id=1)
    # As replication brings it: the store of a slave takes no puts.
    lab.node.store.role.take("ASYNC_MASTER")
    lab.node.timers.stop(persist=False)
    lab.send("K", TIMER_DELIVER_MS=SECOND_MS + 5_000)
    lab.node.store.role.take("SLAVE")
    lab.node.timers.start()
    lab.pass_time(10_000)
    assert lab.messages() == []
    assert lab.keys(TIMER_TOPIC) == ["K"]


def test_wheels_in_memory_forget_what_is_delivered() -> None:
    with fakemq.Cluster(
        reference="5.5.0", clock="frozen", slaves=1, topics={"orders": 1}, store="memory"
    ) as mq:
        for second in range(1, 21):
            send(mq, f"m{second}", second)
        mq.clock.advance("3m")
        assert len(bodies(mq)) == 20

        def remembered(core: ClusterCore) -> list[int]:
            wheels = [broker5(broker).timers.timers.wheel for broker in core.brokers.values()]
            return [len(part) for one in wheels for part in (one._slots, one._times, one._changed)]

        assert mq.inspect(remembered) == [0] * 6
