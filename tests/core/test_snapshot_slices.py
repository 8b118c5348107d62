"""A snapshot is read in slices, and has the data of one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fakemq
from fakemq.broker.broker import Broker
from fakemq.clock.slices import Slices, finished
from fakemq.core.cluster import ClusterCore
from fakemq.core.snapshots import Snapshot
from fakemq.errors import StoreError
from fakemq.store.files import File
from fakemq.store.image import Capture, take
from fakemq.store.inner_message import inner_message
from tests.support.calls import calls_of
from tests.support.slices import count_looks_as_ms

MANY = 60
SMALL = {
    "mappedFileSizeCommitLog": "16384",
    "mappedFileSizeConsumeQueue": "200",
    "maxHashSlotNum": "50",
    "maxIndexNum": "400",
}


@pytest.fixture(params=["memory", "directory"])
def mq(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[fakemq.Cluster]:
    store = None if request.param == "memory" else str(tmp_path / "stores")
    with fakemq.Cluster(clock="frozen", store=store, config=SMALL) as cluster:
        cluster.inspect(lambda core: fill(core.broker("broker-a")))
        yield cluster


def fill(broker: Broker, number: int = MANY, prefix: str = "topic") -> None:
    with broker.persistence.at_once():
        for one in range(number):
            broker.topics.create(f"{prefix}-{one}", 4)
            broker.groups.find(f"{prefix}-{one}")
    for one in range(number):
        broker.offsets.commit("billing", f"{prefix}-{one}", 0, one)
        put(broker, f"{prefix}-{one}", f"key-{one}")


def put(broker: Broker, topic: str, key: str) -> None:
    broker.put(inner_message(topic, 0, b"x" * 20, {"KEYS": key}, f"KEYS\x01{key}\x02"))


def data_of(snapshot: Snapshot) -> Any:
    return snapshot._brokers, snapshot._name_servers


def begun(core: ClusterCore) -> tuple[Any, Iterator[None]]:
    """Return the data now, and the steps of a snapshot after its moment."""
    expected = data_of(Snapshot.of(core.brokers, core.name_servers))
    steps = Snapshot.in_steps(core.brokers, core.name_servers)
    next(steps)
    return expected, steps


def more(broker: Broker) -> None:
    fill(broker, 40, "later")
    for one in range(0, MANY, 3):
        broker.offsets.commit("billing", f"topic-{one}", 0, one + 7)
        put(broker, f"topic-{one}", "another")
        broker.topics.create(f"topic-{one}", 5)
    broker.topics.delete("topic-7")
    broker.groups.delete("topic-7")
    broker.store.index.catch_up()


CHANGES: dict[str, Callable[[Broker], object]] = {
    "more of all": more,
    "files deleted": lambda broker: broker.store.clean_unused_topic(set()),
    "all deleted": lambda broker: broker.reset(),
    "a kill": lambda broker: broker.kill(),
    "a power failure": lambda broker: broker.kill(lose_unsynced=True),
    "a stop": lambda broker: broker.stop(),
    "spoiled bytes": lambda broker: [
        file.spoil(0, b"spoiled") for file in list(broker.store.files.opened())
    ],
}


@pytest.mark.parametrize("part", [0, 0.8])
@pytest.mark.parametrize("change", CHANGES)
def test_snapshot_leaves_out_what_changes_between_steps(
    mq: fakemq.Cluster, change: str, part: float
) -> None:
    def look(core: ClusterCore) -> bool:
        _, steps = begun(core)
        number = sum(1 for _ in steps)
        expected, steps = begun(core)
        for _ in range(int(part * number)):
            next(steps)
        CHANGES[change](core.broker("broker-a"))
        return bool(data_of(finished(steps)) == expected)  # type: ignore[arg-type]

    assert mq.inspect(look)


def test_each_step_of_a_snapshot_is_short(mq: fakemq.Cluster) -> None:
    def look(core: ClusterCore) -> list[int]:
        _, steps = begun(core)
        calls = []
        ended: list[object] = []
        while not ended:
            calls.append(calls_of(lambda: ended.append(1) if next(steps, 1) else None))
        return calls

    calls = mq.inspect(look)
    assert max(calls) < sum(calls) / 10


def test_snapshot_of_a_user_takes_many_turns(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = []
    take_turn = Slices.take_turn

    def counted(slices: Slices) -> None:
        turns.append(1)
        take_turn(slices)

    monkeypatch.setattr(Slices, "take_turn", counted)
    count_looks_as_ms(monkeypatch)
    mq.snapshot()
    assert len(turns) > 30


def test_capture_that_is_given_up_reads_no_more(mq: fakemq.Cluster) -> None:
    def look(core: ClusterCore) -> None:
        _, steps = begun(core)
        files = core.broker("broker-a").store.files
        assert len(files.captures) == 1
        steps.close()  # type: ignore[attr-defined]
        assert not files.captures

    mq.inspect(look)


def test_two_captures_are_of_their_own_moments(mq: fakemq.Cluster) -> None:
    def look(core: ClusterCore) -> None:
        broker = core.broker("broker-a")
        first, before = Capture(broker.store), take(broker.store)
        more(broker)
        second, after = Capture(broker.store), take(broker.store)
        broker.store.clean_unused_topic(set())
        assert finished(second.image()) == after
        assert finished(first.image()) == before
        assert before != after

    mq.inspect(look)


def test_snapshot_that_fails_leaves_no_capture(tmp_path: Path) -> None:
    with fakemq.Cluster(clock="frozen", store=str(tmp_path), masters=2, topics={"orders": 1}) as mq:
        mq.seed("orders", ["a", "b"])
        mq.broker("broker-b").stop()
        (log,) = tmp_path.glob("broker-b*/commitlog/*")
        log.unlink()
        log.mkdir()
        with pytest.raises(StoreError, match="commitlog"):
            mq.snapshot()
        assert mq.inspect(lambda core: core.broker("broker-a").store.files.captures) == []


def test_file_that_cannot_be_read_fails_the_snapshot_and_no_put(mq: fakemq.Cluster) -> None:
    def look(core: ClusterCore) -> None:
        broker = core.broker("broker-a")
        _, steps = begun(core)
        (index,) = (one for one in broker.store.files.opened() if one.path.startswith("index/"))
        real = type(index).read

        def read(file: File, start: int, size_bytes: int) -> memoryview | bytes:
            if file is index and size_bytes == 4096:  # the page that the capture keeps
                raise StoreError("the index cannot be read")
            return real(file, start, size_bytes)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(index), "read", read)
            put(broker, "topic-1", "one-more")
            broker.store.index.catch_up()
            broker.store.index.catch_up()
        with pytest.raises(StoreError, match="the index cannot be read"):
            finished(steps)  # type: ignore[arg-type]
        assert not broker.store.files.captures

    mq.inspect(look)


def test_put_copies_the_pages_that_it_changes(tmp_path: Path) -> None:
    """An index file of the default size has 420 MB: to copy it took one turn."""
    sizes = SMALL | {"maxHashSlotNum": "100000", "maxIndexNum": "100000"}
    with fakemq.Cluster(clock="frozen", store=str(tmp_path / "stores"), config=sizes) as mq:

        def look(core: ClusterCore) -> None:
            broker = core.broker("broker-a")
            fill(broker)
            expected, steps = begun(core)
            (capture,) = broker.store.files.captures
            assert isinstance(capture, Capture)
            for number in range(3):
                put(broker, "topic-1", f"more-{number}")
            broker.store.index.catch_up()
            kept = [len(pages) for pages in capture._pages.values()]
            assert 0 < sum(kept) <= 10
            assert not capture._images
            assert data_of(finished(steps)) == expected  # type: ignore[arg-type]

        mq.inspect(look)
