"""A master and a slave, one of them Java's, and what must be the same at both.

``fake_master`` and ``java_master`` start masters, ``java_slave`` and ``fake_slave`` their slaves.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from conformance.targets.java_cluster import (
    SMALL_JVM,
    JavaBroker,
    JavaCluster,
    JavaNode,
    wait_until,
)
from conformance.targets.java_jars import REFERENCE
from conformance.targets.processes import FakemqProcess
from conformance.targets.runtime_info import DISPATCH_S, runtime_info, wait_dispatched
from conformance.wire.raw import RawConnection, call, frame, json_header, split
from conformance.wire.requests import pull_fields, texts
from fakemq.client.blocking import Client
from fakemq.client.messages import Message, SendStatus
from fakemq.protocol import fastjson
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT
from fakemq.protocol.message import BLANK_MAGIC_CODE

IN_STEP_S = 90.0
"""A slave connects after 5 s and reports after 10, in a JVM that takes its time to start."""
SYNC_S = 90.0
"""Four looks at the master's tables."""
ATTACHED = "Attached"
"""The topic of messages that only find out whether there is a slave."""
SLAVE = {"brokerName": "broker-a", "brokerId": "1", "brokerRole": "SLAVE"}
_PULL_MESSAGE, _GET_ALL_DELAY_OFFSET = 11, 45
_GET_MAX_OFFSET, _GET_MIN_OFFSET = 30, 31
_TABLES = {"topics": 21, "consumer offsets": 43, "subscription groups": 201}
_RECORD_HEAD = struct.Struct(">ii")


class Node(NamedTuple):
    """A running broker."""

    namesrv_addr: str
    addr: str
    store: Path


Config = Mapping[str, str]
MasterOf = Callable[[Path, Config, Mapping[str, int]], AbstractContextManager[Node]]
"""Starts a master with topics, in a folder."""
SlaveOf = Callable[[Path, Config, Node], AbstractContextManager[Node]]
"""Starts a slave of a master, in a folder."""


# -- brokers ----------------------------------------------------------------------------------


@contextmanager
def fake_master(
    home: Path, config: Config, topics: Mapping[str, int], version: str = REFERENCE
) -> Iterator[Node]:
    store = home / "master"
    words = [word for topic, queues in topics.items() for word in ("--topic", f"{topic}:{queues}")]
    with FakemqProcess(
        *("--namesrv-port", "0", "--broker-port", "0", "--reference", version, *words),
        config=_lines({**config, "brokerName": "broker-a", "storePathRootDir": str(store)}),
    ) as process:
        yield Node(process.namesrv_addr, process.broker_addrs[0], store)


@contextmanager
def java_master(
    home: Path, config: Config, topics: Mapping[str, int], version: str = REFERENCE
) -> Iterator[Node]:
    with JavaCluster(config=config, topics=topics, version=version) as real:
        master = real.broker("broker-a")
        yield Node(real.namesrv_addr, master.addr, master.store)


@contextmanager
def java_slave(
    home: Path, config: Config, master: Node, version: str = REFERENCE
) -> Iterator[Node]:
    namesrv = JavaNode("any", home, "", int(master.namesrv_addr.rpartition(":")[2]), ())
    slave = JavaBroker("broker-a", home / "slave", namesrv, SMALL_JVM, version)
    slave.config |= {**config, **SLAVE}
    try:
        slave.start()
        yield Node(master.namesrv_addr, slave.addr, slave.store)
    finally:
        slave.kill()


@contextmanager
def fake_slave(
    home: Path, config: Config, master: Node, version: str = REFERENCE
) -> Iterator[Node]:
    store = home / "slave"
    addrs = {"listenPort": "0", "brokerIP1": "127.0.0.1", "brokerIP2": "127.0.0.1"}
    with FakemqProcess(
        *("broker", "-n", master.namesrv_addr, "--reference", version),
        config=_lines({**config, **SLAVE, **addrs, "storePathRootDir": str(store)}),
    ) as process:
        yield Node(master.namesrv_addr, process.broker_addrs[0], store)


def _lines(config: Config) -> list[str]:
    return [f"{key}={value}" for key, value in config.items()]


def send_until_safe(client: Client, topic: str = ATTACHED) -> dict[SendStatus, int]:
    """Send until a slave has what is sent; return how often each status came before."""
    statuses: dict[SendStatus, int] = {}
    end = time.monotonic() + IN_STEP_S
    while True:
        # A SYNC_MASTER waits up to 5 s for a slave that has just connected.
        status = client.send(Message(topic, b"early"), timeout_ms=15_000).status
        if status is SendStatus.SEND_OK:
            return statuses
        statuses[status] = statuses.get(status, 0) + 1
        assert time.monotonic() < end, statuses
        time.sleep(0.1)


def wait_in_step(master: Node, slave: Node) -> None:
    """Wait until their logs end at the same place, and all of both is in the queues."""
    wait_until(lambda: log_end(slave) == log_end(master) > 0, IN_STEP_S)
    wait_dispatched(master.addr)
    wait_dispatched(slave.addr)


def log_end(node: Node) -> int:
    """Return where a broker says that its commit log ends."""
    return int(runtime_info(node.addr)["commitLogMaxOffset"])


def log_of(node: Node) -> dict[int, bytes]:
    """The files of a store's commit log by offset; what is all zeros has only been made early."""
    paths = sorted((node.store / "commitlog").iterdir())
    files = {int(path.name): path.read_bytes() for path in paths}
    return {first: data for first, data in files.items() if any(data)}


def queues_of(node: Node) -> list[tuple[str, int]]:
    """Return the queues that have files."""
    folders = (node.store / "consumequeue").glob("*/*")
    return sorted((path.parent.name, int(path.name)) for path in folders if any(path.iterdir()))


def entries_of(node: Node, topic: str, queue_id: int, least: int, most: int) -> bytes:
    """Return the entries of a queue's files from one offset to another."""
    paths = sorted((node.store / "consumequeue" / topic / str(queue_id)).iterdir())
    start = least * CONSUME_QUEUE_UNIT.size - int(paths[0].name)
    data = b"".join(path.read_bytes() for path in paths)
    return data[start : start + (most - least) * CONSUME_QUEUE_UNIT.size]


def records_in(data: bytes) -> int:
    """Return how many records a file of a log begins with."""
    count = at = 0
    while at + _RECORD_HEAD.size <= len(data):
        size_bytes, magic = _RECORD_HEAD.unpack_from(data, at)
        if size_bytes <= 0 or magic == BLANK_MAGIC_CODE:
            break
        count += 1
        at += size_bytes
    return count


class Reader:
    """One connection to a broker, by which its queues are read."""

    def __init__(self, connection: RawConnection) -> None:
        self._connection = connection

    def _offset(self, code: int, topic: str, queue_id: int) -> int:
        fields = {"topic": topic, "queueId": str(queue_id)}
        header = json_header(self._connection.call(frame(code, fields)))
        found = header["extFields"]
        assert isinstance(found, dict), header
        return int(found["offset"])

    def ends(self, topic: str, queue_id: int) -> tuple[int, int]:
        """Return the first offset and the next one."""
        return self._offset(_GET_MIN_OFFSET, topic, queue_id), self.end(topic, queue_id)

    def end(self, topic: str, queue_id: int) -> int:
        """Return the next offset."""
        return self._offset(_GET_MAX_OFFSET, topic, queue_id)

    def wait_end(self, topic: str, queue_id: int, end: int) -> int:
        """Wait until a queue ends there; return its first offset."""
        wait_until(lambda: self.end(topic, queue_id) == end, DISPATCH_S)
        return self.ends(topic, queue_id)[0]

    def records(self, topic: str, queue_id: int, offset: int, end: int) -> list[bytes]:
        """Return the records of the messages from ``offset`` to ``end``, pulled."""
        found: list[bytes] = []
        while len(found) < end - offset:
            header, body = self._pull(topic, queue_id, offset + len(found))
            assert header["code"] == 0, header
            while body:
                (size_bytes, _) = _RECORD_HEAD.unpack_from(body)
                found.append(body[:size_bytes])
                body = body[size_bytes:]
        return found[: end - offset]

    def _pull(self, topic: str, queue_id: int, offset: int) -> tuple[Mapping[str, object], bytes]:
        fields = texts(pull_fields(topic, offset, queueId=queue_id, consumerGroup="GReader"))
        answer = self._connection.call(frame(_PULL_MESSAGE, fields))
        return json_header(answer), split(answer)[2]


def assert_same_stores(master: Node, slave: Node) -> int:
    """All that a slave has is its master's: log files, queues and every message, read from both.

    Return the offset at which the slave begins. Nothing may be on its way to the master any more.
    """
    wait_in_step(master, slave)
    mine, other = log_of(master), log_of(slave)
    first, end = min(other), log_end(master)
    assert other == {offset: data for offset, data in mine.items() if offset >= first}
    assert max(other) < end
    records = sum(map(records_in, other.values()))
    messages = unreadable = 0
    queues, topics = queues_of(slave), tables(slave)["topics"]["topicConfigTable"]
    with RawConnection(master.addr) as to_master, RawConnection(slave.addr) as to_slave:
        at_master, at_slave = Reader(to_master), Reader(to_slave)
        for where in queues:
            _, most = at_master.ends(*where)
            ends = at_slave.wait_end(*where, most), most
            assert entries_of(slave, *where, *ends) == entries_of(master, *where, *ends), where
            messages += most - ends[0]
            if where[0] in topics:
                assert at_slave.records(*where, *ends) == at_master.records(*where, *ends), where
            else:  # which no client may read: that of transactions' ops
                unreadable += most - ends[0]
    assert messages == records
    assert log_end(master) == end
    print(
        f"the same: {len(other)} files, {end - first} bytes from {first} to {end},"
        f" {len(queues)} queues, {messages} messages, all but {unreadable} of them pulled from both"
    )
    return first


# -- tables -----------------------------------------------------------------------------------


def tables(node: Node) -> dict[str, Any]:
    """Return what a broker answers to the requests of a slave."""
    found = {}
    for name, code in _TABLES.items():
        _, _, body = split(call(node.addr, frame(code, {})))
        found[name] = fastjson.loads(body)
    return found


def delay_offsets(node: Node) -> Any:
    """Return what a broker answers to a request for its delay offsets."""
    _, _, body = split(call(node.addr, frame(_GET_ALL_DELAY_OFFSET, {})))
    return fastjson.loads(body)


def kept_delay_offsets(node: Node) -> Any:
    """Return what a broker has in its file of them; None if there is none."""
    path = node.store / "config" / "delayOffset.json"
    return fastjson.loads(path.read_bytes()) if path.exists() else None


def assert_same_tables(master: Node, slave: Node) -> None:
    """A slave has its master's tables, in force and on its disk, but for delays: on its disk only.

    Until it is a master it answers with those that it had itself, when it started.
    """
    wait_until(lambda: tables(slave) == tables(master), SYNC_S)
    wait_until(lambda: kept_delay_offsets(slave) == delay_offsets(master), SYNC_S)
    assert delay_offsets(slave) == {"offsetTable": {}}
    found = tables(slave)
    offsets = found["consumer offsets"]["offsetTable"]
    assert len(found["topics"]["topicConfigTable"]) > 5
    for name, path in (
        ("topics", "topics.json"),
        ("consumer offsets", "consumerOffset.json"),
        ("subscription groups", "subscriptionGroup.json"),
    ):
        kept = fastjson.loads((slave.store / "config" / path).read_bytes())
        assert kept == found[name], path
    print(
        f"the same: {len(found['topics']['topicConfigTable'])} topics,"
        f" {sum(map(len, offsets.values()))} consumer offsets of {len(offsets)} groups and topics,"
        f" {len(found['subscription groups']['subscriptionGroupTable'])} groups,"
        f" delay offsets {delay_offsets(master)['offsetTable']}"
    )
