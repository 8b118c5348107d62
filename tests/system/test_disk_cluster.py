"""Clusters whose stores are directories: what tests, clients and the command line see of it."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

import fakemq
from fakemq.client.blocking import Client
from fakemq.client.messages import Message, SendStatus
from fakemq.config.spec import cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.errors import StoreError
from fakemq.events.store import StoreRecovered, UnsyncedLost
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.properties import WAIT_STORE_MSG_OK
from tests.support.broker_lab import send_header
from tests.support.clients import beat, consumer_data
from tests.support.peer import Answer, Peer
from tests.support.transactions import end_header, send_half

NODE = "broker-a-0"
SMALL = {"mappedFileSizeCommitLog": 65_536, "mappedFileSizeConsumeQueue": 2_000}


def bodies(mq: fakemq.Cluster) -> list[bytes]:
    return [message.body for message in mq.messages("orders")]


def test_messages_outlive_the_cluster(tmp_path: Path) -> None:
    with fakemq.Cluster(store=str(tmp_path), topics={"orders": 2}) as mq:
        mq.seed("orders", [b"a", b"b", b"c"])
    assert sorted(os.listdir(tmp_path)) == [NODE]
    with fakemq.Cluster(store=str(tmp_path), topics={"orders": 2}) as mq:
        assert bodies(mq) == [b"a", b"b", b"c"]
        mq.reset()
        assert bodies(mq) == []
        mq.seed("orders", [b"d"])
    with fakemq.Cluster(store=str(tmp_path), topics={"orders": 2}) as mq:
        assert bodies(mq) == [b"d"]


def test_broker_restarts_from_its_directory(tmp_path: Path) -> None:
    with fakemq.Cluster(store=str(tmp_path), topics={"orders": 2}) as mq:
        broker = mq.broker("broker-a")
        for how in (broker.stop, broker.kill):
            mq.seed("orders", [b"x"])
            before = bodies(mq)
            how()
            assert not (tmp_path / NODE / "abort").exists() or how == broker.kill
            broker.restart()
            assert bodies(mq) == before
        assert [event.clean for event in mq.journal.find(StoreRecovered)] == [True, True, False]


def test_directory_in_use_is_not_read(tmp_path: Path) -> None:
    spec = cluster_spec(store=str(tmp_path), clock="frozen", topics={"orders": 1}, config=SMALL)
    with fakemq.Cluster(store=str(tmp_path), clock="frozen", topics={"orders": 1}, config=SMALL):
        for name in ("topics.json", "topics.json.bak"):
            (tmp_path / NODE / "config" / name).write_text("being written")
        with pytest.raises(StoreError, match="another broker has this store open"):
            ClusterCore(spec, ["127.0.0.1:1"], [10911]).start()


def test_broker_whose_stop_fails_is_down(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spec = cluster_spec(store=str(tmp_path), clock="frozen", topics={"orders": 1}, config=SMALL)
    core = ClusterCore(spec, ["127.0.0.1:1"], [10911])
    core.start()
    broker = core.broker("broker-a")
    disk = broker.store.disk
    assert disk is not None

    def fail() -> None:
        raise ValueError("a mistake")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk.flush, "everything", fail)
        stopped: list[bool] = []
        broker.stop(lambda: stopped.append(True))
        core.network.settle()
        core.advance(3_000)
    assert "a mistake" in caplog.text
    assert stopped == [True]
    assert broker.state.value == "stopped"
    assert not [timer for timer in core.clock.timers() if timer.owner == broker.name]
    core.start_broker(broker)
    core.stop()


@pytest.mark.parametrize("clock", ["real", "frozen"])
def test_sync_flushed_messages_survive_a_power_failure(
    tmp_path: Path, clock: Literal["real", "frozen"]
) -> None:
    with fakemq.Cluster(
        store=str(tmp_path), topics={"orders": 2}, flush="SYNC_FLUSH", clock=clock, config=SMALL
    ) as mq:
        sent: list[bytes] = []
        for life in range(3):
            with Client(mq.namesrv_addr) as client:
                for number in range(20):
                    body = b"%d-%d" % (life, number) * 50
                    assert client.send(Message("orders", body)).status is SendStatus.SEND_OK
                    sent.append(body)
            mq.broker("broker-a").kill(lose_unsynced=True)
            mq.broker("broker-a").restart()
            assert sorted(bodies(mq)) == sorted(sent)
        assert [event.log_bytes for event in mq.journal.find(UnsyncedLost)] == [0, 0, 0]


def test_async_flush_loses_unflushed_messages_and_counts_them(tmp_path: Path) -> None:
    with fakemq.Cluster(store=str(tmp_path), topics={"orders": 1}, clock="frozen", seed=3) as mq:
        mq.seed("orders", [b"safe"])
        mq.clock.advance("11s")
        mq.seed("orders", [b"lost" * 1000] * 10)
        mq.broker("broker-a").kill(lose_unsynced=True)
        mq.broker("broker-a").restart()
        (lost,) = mq.journal.find(UnsyncedLost)
        assert lost.log_bytes > 40_000
        assert bodies(mq)[0] == b"safe"
        assert len(bodies(mq)) < 11


def test_second_cluster_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    with (
        fakemq.Cluster(store=str(tmp_path)),
        pytest.raises(StoreError, match=f"{tmp_path}/{NODE}: Lock failed,MQ already started"),
        fakemq.Cluster(store=str(tmp_path)),
    ):
        pass


def test_stopping_leaves_no_descriptor(tmp_path: Path) -> None:
    def descriptors() -> int:
        gc.collect()  # those that other tests have left to it are not of this test
        return len(os.listdir("/proc/self/fd"))

    with fakemq.Cluster(store=str(tmp_path), topics={"orders": 8}) as mq:
        mq.broker("broker-a").stop()
        before = descriptors()
        mq.broker("broker-a").restart()
        mq.seed("orders", [b"x"] * 100)
        assert len(mq.messages("orders")) == 100
        assert descriptors() > before + 8
        mq.broker("broker-a").stop()
        assert descriptors() == before


# -- waiting for the disk ---------------------------------------------------------------------


class SyncBroker:
    """A broker with SYNC_FLUSH on a frozen clock, and a peer of it."""

    def __init__(self, root: Path) -> None:
        spec = cluster_spec(
            store=str(root), clock="frozen", flush="SYNC_FLUSH", topics={"orders": 4}
        )
        self.core = ClusterCore(spec, ["127.0.0.1:1"], [10911])
        self.core.start()
        self.broker = self.core.broker("broker-a")
        self.core.network.listen(self.broker.addr, self.broker.accept)
        core = self.core
        self.peer = Peer(core.network, core.clock, core.journal, self.broker.addr)
        disk = self.broker.store.disk
        assert disk is not None
        self.flush = disk.flush

    def send(self, **fields: str) -> Answer:
        header = send_header(**fields)
        return self.peer.send(RequestCode.SEND_MESSAGE_V2, header, b"hello", timeout_ms=60_000)


@pytest.fixture
def sync(tmp_path: Path) -> Iterator[SyncBroker]:
    sync = SyncBroker(tmp_path)
    yield sync
    sync.core.stop()


def test_answer_follows_the_flush(sync: SyncBroker) -> None:
    sync.flush.stalled = True
    answer = sync.send()
    sync.core.advance(1_000)
    assert not answer.over
    assert sync.broker.store.max_offset_in_queue("orders", 0) == 1
    sync.flush.stalled = False
    sync.core.advance(0)
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS


@pytest.mark.parametrize("in_time", [True, False])
def test_answer_to_a_commit_follows_the_flush(sync: SyncBroker, in_time: bool) -> None:
    half = send_half(sync.peer)
    sync.flush.stalled = True
    answer = sync.peer.send(RequestCode.END_TRANSACTION, end_header(half), timeout_ms=60_000)
    sync.core.advance(4_999)
    assert not answer.over
    sync.flush.stalled = not in_time
    sync.core.advance(1)
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS


@pytest.mark.parametrize("in_time", [True, False])
def test_answer_to_a_reply_follows_the_flush(sync: SyncBroker, in_time: bool) -> None:
    asker = Peer(sync.core.network, sync.core.clock, sync.core.journal, sync.broker.addr)
    beat(asker, "asker@1", producers=["askers"])
    sync.flush.stalled = True
    header = send_header("DefaultCluster_REPLY_TOPIC", properties="REPLY_TO_CLIENT\x01asker@1")
    code = RequestCode.SEND_REPLY_MESSAGE_V2
    answer = sync.peer.send(code, header, b"the reply", timeout_ms=60_000)
    sync.core.network.settle()
    asker.answer()
    sync.core.advance(4_999)
    assert not answer.over
    sync.flush.stalled = not in_time
    sync.core.advance(1)
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS
    assert answer.response.ext_fields["queueOffset"] == "0"


def test_message_sent_back_does_not_wait_for_the_flush(sync: SyncBroker) -> None:
    header = ConsumerSendMsgBackRequestHeader(offset=0, group="g", delay_level=3)
    beat(sync.peer, "consumer@1", consumers=[consumer_data("g")])
    sent = sync.send()
    sync.core.advance(0)
    assert sent.over
    sync.flush.stalled = True
    answer = sync.peer.send(RequestCode.CONSUMER_SEND_MSG_BACK, header, timeout_ms=60_000)
    sync.core.network.settle()
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS


def test_flush_times_out_after_five_seconds(sync: SyncBroker) -> None:
    sync.flush.stalled = True
    answer = sync.send()
    sync.core.advance(4_999)
    assert not answer.over
    sync.core.advance(1)
    assert answer.response is not None
    assert answer.response.code == ResponseCode.FLUSH_DISK_TIMEOUT
    assert answer.response.ext_fields["queueOffset"] == "0"


def test_send_without_wait_does_not_wait_for_the_flush(sync: SyncBroker) -> None:
    sync.flush.stalled = True
    answer = sync.send(properties=f"{WAIT_STORE_MSG_OK}\x01false\x02")
    sync.core.network.settle()
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS


# -- the command line -------------------------------------------------------------------------


def test_ready_file_names_the_directory(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    root = tmp_path / "mine"
    config = {"storePathRootDir": str(root)}
    with fakemq.Cluster(config=config, ready_file=str(ready)):
        assert json.loads(ready.read_text())["brokers"][0]["store"] == str(root)
        assert (root / "abort").exists()


def test_repair_is_one_line_with_file_offset_and_bytes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with fakemq.Cluster(store=str(tmp_path), topics={"orders": 1}) as mq:
        mq.seed("orders", [b"one", b"two", b"six"])
        at = mq.messages("orders")[1].commit_log_offset
    log = tmp_path / NODE / "commitlog" / f"{0:020}"
    with open(log, "r+b") as file:
        file.seek(at + 88)
        file.write(b"T")
    with fakemq.Cluster(store=str(tmp_path), topics={"orders": 1}) as mq:
        assert bodies(mq) == [b"one"]
    lines = [record.getMessage() for record in caplog.records if "/commitlog/" in record.message]
    assert [line.partition(": CRC")[0] for line in lines] == [
        f"{NODE}: repaired {log} at {at}, {2 * at} bytes cut"
    ]
