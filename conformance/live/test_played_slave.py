"""A slave played by a test, at a Java master and at ours: the same bytes, statuses and times."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

import pytest

from conformance.live.groups import WAITING
from conformance.targets.java_cluster import JavaCluster, wait_until
from conformance.targets.processes import FakemqProcess
from fakemq.client.blocking import Client
from fakemq.client.messages import Message, SendStatus

# A connection that says nothing is closed after 20 s.
pytestmark = [pytest.mark.slow, WAITING]

TOPIC = "Replicated"
CONFIG = {
    "brokerRole": "SYNC_MASTER",
    "mappedFileSizeCommitLog": "65536",
    "haSlaveFallbehindMax": "70000",
}
_INT64 = struct.Struct(">q")
_HEADER = struct.Struct(">qi")


class Slave:
    """A connection to a master's HA port that keeps the transfers that it receives.

    While ``acks`` it reports every transfer as soon as it is there.
    """

    def __init__(self, addr: tuple[str, int]) -> None:
        self._socket = socket.create_connection(addr)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._began = time.monotonic()
        self.acks = False
        self.closed_after_s = 0.0
        self.transfers: list[tuple[int, int]] = []
        """Offset and size of each; heartbeats have none."""

    def __enter__(self) -> Self:
        self._thread.start()
        time.sleep(0.5)  # Java's master has to notice
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def report(self, offset: int) -> None:
        self.say(_INT64.pack(offset))

    def say(self, data: bytes) -> None:
        self._socket.sendall(data)

    def wait_closed(self, timeout_s: float) -> str:
        """Whether the master closed, and whether that was after the 20 s of its housekeeping."""
        self._thread.join(timeout_s)
        if not self.closed_after_s:
            return "open"
        # Its clock began before ours did, and a busy machine is late.
        kept_house = 19 < self.closed_after_s < 60
        return "closed after 20 s" if kept_house else f"closed after {self.closed_after_s:.1f} s"

    def _read(self) -> None:
        data = b""
        with contextlib.suppress(OSError):
            while received := self._socket.recv(1 << 20):
                data += received
                while len(data) >= 12 and len(data) >= 12 + _HEADER.unpack_from(data)[1]:
                    offset, size = _HEADER.unpack_from(data)
                    data = data[12 + size :]
                    self.transfers.append((offset, size))
                    if self.acks and size:
                        self.report(offset + size)
        self.closed_after_s = time.monotonic() - self._began


class Master:
    """A master seen by a producer and by its slaves; ``seen`` says what happened."""

    def __init__(self, namesrv_addr: str, addr: str) -> None:
        host, _, port = addr.rpartition(":")
        self.ha_addr = (host, int(port) + 1)
        self.client = Client(namesrv_addr, send_timeout_ms=15_000)
        self.seen: list[str] = []

    def send(self, what: str, size_bytes: int = 100) -> None:
        body = random.Random(1).randbytes(size_bytes)  # that cannot be compressed
        began = time.monotonic()
        status = self.client.send(Message(TOPIC, body)).status
        took_s = time.monotonic() - began
        # Java looks once a second whether a wait is over, and a busy machine later.
        took = "at once" if took_s < 2.9 else "after 3 s" if took_s < 10 else f"{took_s:.1f} s"
        self.seen.append(f"{what}: {status.name} {took}")

    def is_alone(self) -> bool:
        """Return whether the master has noticed that no slave is connected."""
        status = self.client.send(Message(TOPIC, b"x")).status
        return status is SendStatus.SLAVE_NOT_AVAILABLE

    def say(self, what: str, value: object) -> None:
        self.seen.append(f"{what}: {value}")

    def run(self) -> list[str]:
        with self.client:
            self._without_slaves()
            self._with_a_good_one()
            self._with_bad_ones()
        return self.seen

    def _without_slaves(self) -> None:
        self.send("no slave")
        with Slave(self.ha_addr) as slave:
            self.send("one that says nothing")
            self.say("it", slave.wait_closed(25))
            self.say("it received", slave.transfers)
        time.sleep(0.5)
        self.send("it is gone")

    def _with_a_good_one(self) -> None:
        with Slave(self.ha_addr) as slave:
            slave.acks = True
            slave.report(0)
            time.sleep(0.5)
            self.say("what there is", slave.transfers)
            for size in (1, 100, 40_000, 40_000, 5):
                self.send(f"{size} bytes", size)
            time.sleep(0.5)
            self.say("what comes", slave.transfers)
            slave.acks = False
            self.send("no ack", 30_000)
            self.send("too far behind", 30_000)
            self.send("even farther")
            time.sleep(0.5)
            offset, size = slave.transfers[-1]
            slave.report(offset + size)
            time.sleep(0.2)
            slave.acks = True
            self.send("in step again")
            del slave.transfers[:]
            time.sleep(5.5)
            self.say("heartbeats", [size for _, size in slave.transfers])

    def _with_bad_ones(self) -> None:
        with Slave(self.ha_addr) as slave:
            slave.report(100_000)
            time.sleep(0.2)
            self.say("begins with", slave.transfers[:1])
        with Slave(self.ha_addr) as slave:
            slave.report(65536)
            time.sleep(0.2)
            slave.report(1 << 50)
            self.say("an ack beyond the end", slave.wait_closed(5) != "open")


@contextlib.contextmanager
def both_masters() -> Iterator[tuple[Master, Master]]:
    """Java's, then ours."""
    ports = ("--namesrv-port", "0", "--broker-port", "0", "--topic", f"{TOPIC}:1")
    with (
        JavaCluster(config=CONFIG, topics={TOPIC: 1}) as real,
        FakemqProcess(*ports, config=[f"{key}={value}" for key, value in CONFIG.items()]) as fake,
    ):
        yield (
            Master(real.namesrv_addr, real.broker("broker-a").addr),
            Master(fake.namesrv_addr, fake.broker_addrs[0]),
        )


def test_slave_sees_the_same_of_both_masters(java: None) -> None:
    with both_masters() as masters, ThreadPoolExecutor() as both:
        expected, seen = both.map(Master.run, masters)
    print("\n".join(expected))
    assert seen == expected


_BEYOND, _NEGATIVE = "beyond the end", "negative"
_RANDOM = random.Random(7)
FIRST_REPORTS = [
    # Java's master keeps the largest offset of all reports: the negative ones come first.
    ("-1", _NEGATIVE, _INT64.pack(-1)),
    ("random bytes", _NEGATIVE, b"\xff" + _RANDOM.randbytes(12)),
    ("a little beyond", _BEYOND, _INT64.pack(1 << 20)),
    ("the most", _BEYOND, _INT64.pack((1 << 63) - 1)),
    ("HTTP", _BEYOND, b"GET / HTTP/1.1\r\n\r\n"),
    ("random bytes", _BEYOND, _RANDOM.randbytes(992) + b"\x7f" + _RANDOM.randbytes(7)),
]
"""Of each, what it is, what kind of offset it says, and the bytes."""
AT_JAVAS = {
    _NEGATIVE: ["FLUSH_SLAVE_TIMEOUT after 3 s", "FLUSH_SLAVE_TIMEOUT after 3 s"],
    _BEYOND: ["SEND_OK at once", "SEND_OK at once"],
}
"""The statuses of a send while the slave is there, and then beside one that reports nothing."""
AT_OURS = ["SLAVE_NOT_AVAILABLE at once", "FLUSH_SLAVE_TIMEOUT after 3 s"]


def first_reports(master: Master) -> list[list[str]]:
    """Return the statuses of sends after each of them."""
    statuses = []
    with master.client:
        for name, _, report in FIRST_REPORTS:
            master.seen = []
            with Slave(master.ha_addr) as bad:
                bad.say(report)
                time.sleep(0.5)
                master.send(name)
            with Slave(master.ha_addr):
                time.sleep(0.5)
                master.send(name)
            statuses.append([one.removeprefix(f"{name}: ") for one in master.seen])
            wait_until(master.is_alone, 60)
        master.seen = []
        with Slave(master.ha_addr) as good:
            good.acks = True
            good.report(0)
            time.sleep(0.5)
            master.send("in step")
        assert master.seen == ["in step: SEND_OK at once"]
    return statuses


def test_impossible_first_report_is_believed_by_java_only(java: None) -> None:
    """The one difference: Java believes it, and says SEND_OK to what no slave has."""
    with both_masters() as masters, ThreadPoolExecutor() as both:
        at_javas, at_ours = both.map(first_reports, masters)
    for (name, kind, report), java_says, ours_says in zip(
        FIRST_REPORTS, at_javas, at_ours, strict=True
    ):
        print(f"{name}, {kind}, {len(report)} bytes: Java {java_says}, ours {ours_says}")
    assert at_javas == [AT_JAVAS[kind] for _, kind, _ in FIRST_REPORTS]
    assert at_ours == [AT_OURS for _ in FIRST_REPORTS]
