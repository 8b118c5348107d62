"""A worker reads every message of its range once, in order, or says what is the matter."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

from fakemq.client.blocking import Client
from fakemq.client.errors import (
    MQBrokerError,
    RemotingConnectError,
    RemotingSendRequestError,
    RemotingTimeoutError,
)
from fakemq.client.instance import ClientInstance
from fakemq.client.pull_operations import PullOperations
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.route import BrokerData, TopicRouteData
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message import encode_record
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.spark.options import Options
from fakemq.spark.reading import queue_reading
from fakemq.spark.reading.bound_offsets import DataLossError, DataLossWarning
from fakemq.spark.reading.options import ReadOptions, read_options
from fakemq.spark.reading.planning import QueueRange
from fakemq.spark.reading.queue_reading import QueueReader, ReadError
from fakemq.spark.records import record_table

QUEUE = MessageQueue(topic="orders", broker_name="broker-a", queue_id=3)
MASTER, SLAVE = "1.1.1.1:1", "1.1.1.2:1"


class Replica:
    """A broker with offsets from ``first`` to ``end``; ``fails`` says what becomes of each pull."""

    def __init__(
        self, end: int, first: int = 0, *, fails: Iterator[str | None] | None = None, most: int = 32
    ) -> None:
        self.first, self.end, self.most = first, end, most
        self.is_slave = False
        self.fails = fails or iter(())
        self.pulls: list[int] = []

    def answer(self, fields: dict[str, str]) -> RemotingCommand:
        offset, count = int(fields["queueOffset"]), min(int(fields["maxMsgNums"]), self.most)
        self.pulls.append(offset)
        if self.first <= offset < self.end:
            found = range(offset, min(offset + count, self.end))
            wanted = [one for one in found if self.tag(one) in fields["subscription"] + "*"]
            body = b"".join(record(one, self.tag(one)) for one in wanted)
            code = ResponseCode.SUCCESS if body else ResponseCode.PULL_RETRY_IMMEDIATELY
            status = "FOUND" if body else "NO_MATCHED_MESSAGE"
            return self.response(code, status, found[-1] + 1, body)
        moved = ResponseCode.PULL_OFFSET_MOVED
        if self.is_slave:
            moved = ResponseCode.PULL_RETRY_IMMEDIATELY
        if offset < self.first:
            return self.response(moved, "OFFSET_TOO_SMALL", self.first)
        if offset == self.end:
            return self.response(ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE", offset)
        return self.response(moved, "OFFSET_OVERFLOW_BADLY", self.end)

    def response(self, code: int, status: str, begin: int, body: bytes = b"") -> RemotingCommand:
        offsets = {"nextBeginOffset": begin, "minOffset": self.first, "maxOffset": self.end}
        fields = {name: str(value) for name, value in offsets.items()}
        return RemotingCommand(
            code, fields | {"suggestWhichBrokerId": "0"}, body=body, remark=status
        )

    @staticmethod
    def tag(offset: int) -> str:
        return "*"


class Channel:
    """Asks one replica; its answers come in any case, unless it fails."""

    def __init__(self, addr: str, replica: Replica) -> None:
        self.addr, self.replica = addr, replica
        self.answers: dict[int, RemotingCommand | Exception] = {}
        self.opaque = 0

    def send_all(self, commands: Iterable[RemotingCommand], *, timeout_ms: int) -> list[int]:
        return [self._send(command) for command in commands]

    def _send(self, command: RemotingCommand) -> int:
        self.opaque += 1
        self.answers[self.opaque] = self._answer(command, next(self.replica.fails, None))
        return self.opaque

    def _answer(self, command: RemotingCommand, failure: str | None) -> RemotingCommand | Exception:
        if failure == "send":
            return RemotingSendRequestError(self.addr)
        if failure == "receive":
            return RemotingTimeoutError(self.addr, 1)
        if failure == "busy":
            return RemotingCommand(ResponseCode.SYSTEM_BUSY, remark="busy")
        if failure == "garbage":
            return RemotingCommand(ResponseCode.SUCCESS, {"nextBeginOffset": "soon"})
        return self.replica.answer(command.ext_fields)

    def receive(self, opaque: int, timeout_ms: int) -> RemotingCommand:
        answer = self.answers.pop(opaque)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def forget(self, opaque: int) -> None:
        self.answers.pop(opaque, None)


class Cluster:
    """What `QueueReader` uses of a client; a replica that is None is away."""

    def __init__(self, master: Replica | None, slave: Replica | None = None) -> None:
        self.instance = ClientInstance("1.1.1.9:9")
        self.consumer = PullOperations(self.instance)
        self.replicas = {MASTER: master, SLAVE: slave}
        addrs = {0: MASTER}
        if slave is not None:
            slave.is_slave = True
            addrs[1] = SLAVE
        self.route = TopicRouteData(
            broker_datas=[BrokerData(broker_name="broker-a", broker_addrs=addrs)]
        )
        self.refusals: Iterator[FakemqError] = iter(())
        self.waits = 0

    def run(self, operation: object) -> TopicRouteData:
        """What it asks of the name server is a route, and nothing else."""
        refusal = next(self.refusals, None)
        if refusal is not None:
            raise refusal
        return self.route

    def channel(self, addr: str) -> Channel:
        replica = self.replicas[addr]
        if replica is None:
            raise RemotingConnectError(addr)
        return Channel(addr, replica)

    def read(self, start: int, end: int, **given: str) -> list[int]:
        return [row["offset"] for row in self.rows(start, end, **given)]

    def rows(self, start: int, end: int, **given: str) -> list[dict[str, Any]]:
        part = QueueRange(QUEUE, start, end)
        reader = QueueReader(cast(Client, self), part, options(**given), self.wait)
        return [row for batch in reader.batches() for row in batch.to_pylist()]

    def wait(self, time_ms: int) -> None:
        self.waits += 1


def options(**given: str) -> ReadOptions:
    least = {"nameServer": "1.1.1.9:9", "subscribe": "orders", "fetchOffset.numRetries": "2"}
    return read_options(Options("rocketmq", least | given), streaming=False)


def record(offset: int, tag: str = "a", body: bytes = b"body", sys_flag: int = 0) -> bytes:
    return encode_record(
        "orders",
        body,
        f"TAGS\x01{tag}",
        queue_id=QUEUE.queue_id,
        born_host=("1.1.1.1", 1),
        store_host=("1.1.1.1", 1),
        flag=0,
        sys_flag=sys_flag,
        queue_offset=offset,
        physical_offset=offset * 100,
        born_timestamp_ms=1,
        store_timestamp_ms=2,
        reconsume_times=0,
        prepared_transaction_offset=0,
    )


FAILURES = st.lists(st.sampled_from([None, None, None, "send", "receive", "busy", "garbage"]))


@settings(max_examples=50, deadline=None)  # each builds a cluster and some batches
@given(
    st.integers(0, 200),
    st.integers(1, 300),
    st.integers(1, 40),
    FAILURES,
    st.none() | st.tuples(st.integers(0, 500), FAILURES),
)
def test_every_message_is_read_once_in_order_whatever_fails(
    start: int,
    count: int,
    most: int,
    fails: list[str | None],
    slave: tuple[int, list[str | None]] | None,
) -> None:
    # A master has all; a slave may be behind. Retries are bounded by what can fail.
    master = Replica(start + count + 7, fails=iter(fails), most=most)
    replica = Replica(slave[0], fails=iter(slave[1]), most=most) if slave else None
    given = {"fetchOffset.numRetries": str(len(fails))}
    cluster = Cluster(master, replica)
    assert cluster.read(start, start + count, **given) == list(range(start, start + count))


def test_batches_have_about_ten_thousand_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_reading, "BATCH_ROWS", 100)
    part = QueueRange(QUEUE, 0, 1_000)
    cluster = Cluster(Replica(1_000))
    reader = QueueReader(cast(Client, cluster), part, options(), cluster.wait)
    assert [len(batch) for batch in reader.batches()] == [128] * 7 + [104]
    monkeypatch.setattr(queue_reading, "BATCH_BYTES", 1)
    reader = QueueReader(cast(Client, cluster), part, options(), cluster.wait)
    assert {len(batch) for batch in reader.batches()} == {32, 8}


def test_pulls_are_pipelined_up_to_the_end_of_the_range() -> None:
    master = Replica(10_000)
    assert Cluster(master).read(0, 500) == list(range(500))
    assert master.pulls == list(range(0, 500, 32)), "none twice, none behind the end"


def test_end_of_a_range_is_exact() -> None:
    assert Cluster(Replica(100)).read(10, 15) == [10, 11, 12, 13, 14]


def test_slave_serves_what_the_master_cannot() -> None:
    cluster = Cluster(None, Replica(100))
    assert cluster.read(0, 100) == list(range(100))
    assert cluster.waits == 0, "a replica is asked at once"


def test_slave_that_is_behind_is_no_data_loss() -> None:
    with pytest.raises(ReadError) as error:
        Cluster(None, Replica(60)).read(0, 100)
    assert "read up to offset 60 of 100" in str(error.value)
    assert "after 2 retries (fetchOffset.numRetries)" in str(error.value)
    assert "topic orders, broker broker-a, queue 3" in str(error.value)


def test_absent_broker_is_named_after_bounded_retries() -> None:
    cluster = Cluster(None)
    with pytest.raises(ReadError, match=f"connect to {MASTER} failed"):
        cluster.read(0, 10)
    assert cluster.waits == 2


def test_unready_name_server_is_asked_again() -> None:
    # 5.x with needWaitForService, for the first seconds after it began.
    refusal = MQBrokerError(ResponseCode.SYSTEM_ERROR, "name server not ready", "1.1.1.9:9")
    cluster = Cluster(Replica(10))
    cluster.refusals = iter([refusal, RemotingTimeoutError("1.1.1.9:9", 3_000)])
    assert cluster.read(0, 10) == list(range(10))
    assert cluster.waits == 2
    cluster.refusals = repeat(refusal)
    with pytest.raises(ReadError, match=r"after 2 retries .*name server not ready"):
        cluster.read(0, 10)


def test_refusal_is_raised_at_once() -> None:
    master = Replica(10)
    master.answer = lambda fields: RemotingCommand(1, remark="no SQL92 here")  # type: ignore[method-assign]
    cluster = Cluster(master)
    with pytest.raises(ReadError, match=f"SYSTEM_ERROR .1. from {MASTER}: no SQL92 here"):
        cluster.read(0, 10)
    assert cluster.waits == 0


@pytest.mark.parametrize(
    ("first", "end", "there", "expected"),
    [
        (40, 100, range(40, 90), "offsets 5 to 89 were requested, but the offsets are 40 to 99"),
        (0, 60, range(5, 60), "offsets 60 to 89 were requested, but the offsets are 0 to 59"),
        (0, 3, range(0), "offsets 5 to 89 were requested, but the offsets are 0 to 2"),
        (95, 100, range(0), "offsets 5 to 89 were requested, but the offsets are 95 to 99"),
    ],
)
def test_deleted_messages_are_data_loss(first: int, end: int, there: range, expected: str) -> None:
    with pytest.raises(DataLossError, match=f"queue 3: {expected}"):
        Cluster(Replica(end, first)).read(5, 90)
    with pytest.warns(DataLossWarning, match=expected) as warned:
        assert Cluster(Replica(end, first)).read(5, 90, failOnDataLoss="false") == list(there)
    assert len(warned) == 1


def test_hole_in_a_queue_is_data_loss() -> None:
    class Holed(Replica):
        def answer(self, fields: dict[str, str]) -> RemotingCommand:
            if fields["queueOffset"] != "32":
                return super().answer(fields)
            code = ResponseCode.PULL_RETRY_IMMEDIATELY
            return self.response(code, "MESSAGE_WAS_REMOVING", 64)

    with pytest.raises(DataLossError, match="offsets 32 to 63 do not exist"):
        Cluster(Holed(100)).read(0, 100)
    with pytest.raises(DataLossError, match="offsets 32 to 63"):
        Cluster(Holed(100)).read(0, 100, tags="*")
    with pytest.warns(DataLossWarning):
        offsets = Cluster(Holed(100)).read(0, 100, failOnDataLoss="false")
    assert offsets == [*range(32), *range(64, 100)]


class Tagged(Replica):
    """Has "Aa" and "BB" by turns, whose hashes are one; returns both for either."""

    def answer(self, fields: dict[str, str]) -> RemotingCommand:
        if int(fields["queueOffset"]) < 64:
            return self.response(ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE", 64)
        return super().answer(fields | {"subscription": "AaBB"})

    @staticmethod
    def tag(offset: int) -> str:
        return "BB" if offset % 2 else "Aa"


def test_tags_with_one_hash_are_distinguished() -> None:
    rows = Cluster(Tagged(200)).rows(0, 150, tags="BB")
    assert [row["offset"] for row in rows] == list(range(65, 150, 2))
    assert {row["tags"] for row in rows} == {"BB"}


def test_slave_that_is_behind_skips_nothing_of_a_filtered_queue() -> None:
    slave = Replica(60)
    assert Cluster(Replica(100), slave).read(0, 90, sql="a > 5") == list(range(90))
    with pytest.raises(ReadError):
        Cluster(None, Replica(60)).read(70, 90, sql="a > 5")


def test_bodies_are_decompressed_and_damage_is_raised() -> None:
    packed = zlib.compress(b"body" * 99)

    class Compressing(Replica):
        def answer(self, fields: dict[str, str]) -> RemotingCommand:
            body = record(0, body=packed, sys_flag=MessageSysFlag.COMPRESSED)
            return self.response(ResponseCode.SUCCESS, "FOUND", 1, body)

    assert Cluster(Compressing(1)).rows(0, 1)[0]["value"] == b"body" * 99
    packed = b"no zlib"
    with pytest.raises(ReadError, match="offsets 0 to 0: a damaged message"):
        Cluster(Compressing(1)).read(0, 1)


def test_large_bodies_make_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    class Compressing(Replica):
        def answer(self, fields: dict[str, str]) -> RemotingCommand:
            body = b"".join(
                record(one, body=zlib.compress(b"%d" % one * 1_000), sys_flag=one % 2)
                for one in range(8)
            )
            return self.response(ResponseCode.SUCCESS, "FOUND", 8, body)

    monkeypatch.setattr(record_table, "MOST_UNPACKED_BYTES", 1_500)
    cluster = Cluster(Compressing(8))
    reader = QueueReader(cast(Client, cluster), QueueRange(QUEUE, 0, 8), options(), cluster.wait)
    batches = list(reader.batches())
    assert [batch.num_rows for batch in batches] == [4, 4]
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [row["offset"] for row in rows] == list(range(8))
    assert [row["value"] for row in rows[1::2]] == [b"%d" % one * 1_000 for one in (1, 3, 5, 7)]


def test_inconsistent_record_is_raised() -> None:
    class Torn(Replica):
        def answer(self, fields: dict[str, str]) -> RemotingCommand:
            response = super().answer(fields)
            body = bytearray(response.body)
            body[84:88] = b"\x00\x00\xff\xff"  # the size of the first body
            return msgspec.structs.replace(response, body=bytes(body))

    with pytest.raises(ReadError, match="a damaged message"):
        Cluster(Torn(5)).read(0, 5)
