"""Retention seen from a test: on a directory, by clients, over restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

import fakemq
from fakemq.client import Client, Message, PullStatus
from fakemq.client.errors import MQBrokerError
from fakemq.dump.command import check_store
from fakemq.events import FilesExpired

CONFIG = {
    "mappedFileSizeCommitLog": "4096",
    "mappedFileSizeConsumeQueue": "400",
    "maxHashSlotNum": "50",
    "maxIndexNum": "40",
}
FULL = (
    "service not available now. It may be caused by one of the following reasons: the broker's disk"
    " is full [CL:  {0:.2f} CQ:  {0:.2f} INDEX:  {0:.2f}], messages are put to the slave, message"
    " store has been shut down, etc."
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_expired_files_are_removed_from_the_directory(tmp_path: Path, how: str) -> None:
    config = CONFIG | {"fileReservedTime": "1"}
    with fakemq.Cluster(store=tmp_path, clock="frozen", topics={"orders": 1}, config=config) as mq:
        mq.seed("orders", [b"x" * 100] * 80, keys="k")
        mq.clock.advance("1s")
        root = tmp_path / "broker-a-0"
        before = {part: names(root / part) for part in ("commitlog", "consumequeue", "index")}
        mq.clock.advance("26h")
        (expired,) = mq.journal.find(FilesExpired)
        assert expired.log_files == len(before["commitlog"]) - 1
        for part, files in before.items():
            assert names(root / part) == files[-len(names(root / part)) :]
            assert len(names(root / part)) < len(files)
        (queue,) = mq.queues("orders")
        assert 0 < queue.min_offset < queue.max_offset == 80
        getattr(mq.broker("broker-a"), how)()
        mq.broker("broker-a").restart()
        assert mq.queues("orders") == [queue]
        left = [message.offset for message in mq.messages("orders")]
        assert left == list(range(queue.min_offset, 80))
    lines: list[str] = []
    assert check_store(str(root), lines.append) == 0, lines


def test_client_receives_javas_error_when_the_disk_is_full(tmp_path: Path) -> None:
    with fakemq.Cluster(store=tmp_path, clock="frozen", topics={"orders": 1}, config=CONFIG) as mq:
        broker = mq.broker("broker-a")
        mq.seed("orders", [b"x" * 100] * 30)
        mq.clock.advance("10s")
        store = mq.inspect(lambda core: core.broker("broker-a")).store
        broker.set_disk_size(int(store.bytes_used / 0.93))
        mq.clock.advance("10s")
        with Client(mq.namesrv_addr) as client:
            queue = client.subscribe_queues("orders")[0]
            with pytest.raises(MQBrokerError) as refused:
                client.send(Message("orders", "one more"), queue=queue)
            assert (refused.value.code, refused.value.remark) == (
                14,
                FULL.format(store.disk_space.rounded_ratio()),
            )
            assert 0.9 < store.used_ratio() < 0.96
            assert client.pull(queue, 0).status is PullStatus.FOUND
            broker.set_disk_size("64MiB")
            mq.clock.advance("10s")
            client.send(Message("orders", "one more"), queue=queue)
            broker.set_disk_size(1000)
            mq.clock.advance("10s")
            with pytest.raises(MQBrokerError):
                client.send(Message("orders", "one more"), queue=queue)
        broker.stop()
        # A broker that stops on a full disk leaves a sign of it, like a real one.
        assert (tmp_path / "broker-a-0" / "abort").exists()
        broker.set_disk_size(None)
        broker.restart()
        mq.seed("orders", [b"x"])


def test_full_memory_store_makes_room_by_itself() -> None:
    config = {**CONFIG, "fileReservedTime": "1"}
    with fakemq.Cluster(
        clock="frozen", topics={"orders": 1}, config=config, memory_limit=40_000
    ) as mq:
        stored = 0
        for _ in range(20):
            mq.seed("orders", [b"x" * 100] * 20)
            stored += 20
            mq.clock.advance("90s")
        (queue,) = mq.queues("orders")
        assert queue.max_offset == stored
        assert queue.min_offset > 0
