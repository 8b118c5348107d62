"""What tests with live clients share: clients started together, routes, processes of fakemq."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from conformance.drivers.drivers import EVENT_TIMEOUT_S, Consuming, Driver, DriverError, Producing
from conformance.targets.java_cluster import wait_until
from conformance.wire.raw import call, frame, split
from fakemq.protocol.bodies.route import TopicRouteData

ROOT = Path(__file__).parents[2]
READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
NOTICED_S = 30.0
"""A bound for what a peer notices by a closed connection, and not by a time-out of 120 s."""
HEARTBEAT_S = 30
"""The interval at which a client sends heartbeats to brokers and asks for new routes."""
_GET_ROUTEINFO_BY_TOPIC = 105


def wall_ms() -> int:
    """Return the machine's time, with which a Java client stamps what it receives."""
    return time.time_ns() // 1_000_000


@contextmanager
def together(*drivers: Driver) -> Iterator[None]:
    """Wait until all are ready; JVMs that start side by side take little longer than one."""
    with ExitStack() as stack:
        for driver in drivers:
            stack.callback(driver.close)
        for driver in drivers:
            driver.__enter__()
        yield


def wait_received(
    consumer: Consuming, ids: Collection[str], timeout_s: float = EVENT_TIMEOUT_S
) -> None:
    """Wait until a listener has been given every one of ``ids``. Raises DriverError."""
    wanted = set(ids)
    consumer.wait_for(
        lambda: wanted <= {message.id for message in consumer.received},
        f"all of {len(wanted)} messages",
        timeout_s,
    )


Look = Callable[[], list[str]]
"""Run a scenario and return what was observed. Raise DriverError if it failed."""

BothLooks = Callable[[], tuple[list[str], list[str]]]
"""Runs a scenario on both clusters; returns what was observed on the real one and on the fake."""


def assert_same(real: Look, fake: Look, real_again: Look, fake_again: Look) -> None:
    """Both clusters show a client the same, at a second look if not at the first.

    At the first many clients share a machine and live by real time: a send that times out is a
    retry, a route that comes late another queue. What the clusters do differently, they do again.
    """
    assert_same_twice(lambda: (real(), fake()), lambda: (real_again(), fake_again()))


def assert_same_twice(first: BothLooks, second: BothLooks) -> None:
    """Both clusters show the same at ``first``, or at ``second``; see `assert_same`."""
    try:
        expected, seen = first()
    except DriverError as error:
        print(f"first look: {error}")
    else:
        if expected and seen == expected:
            return
        print(f"first look: {_both_sides(expected, seen)}")
    expected, seen = second()
    assert expected, "the scenario said nothing"
    assert seen == expected, _both_sides(expected, seen)


def _both_sides(real: list[str], fake: list[str]) -> str:
    """Return what was observed on both clusters, one observation a line."""
    return "\n".join(["they differ", "real:", *real, "fake:", *fake])


def go_and_come(
    producer: Producing,
    consumer: Consuming,
    brokers: list[tuple[Callable[[], object], Callable[[], object]]],
) -> list[str]:
    """Let broker-b, then broker-a leave and return while one client sends and one consumes.

    Their topic has the same queues on both; ``brokers`` says how each leaves and comes. Return
    observations that are the same on every correct cluster.
    """
    seen = []
    with together(producer, consumer):
        producer.go()
        producer.wait_for(_acked_by_two(producer), "sends to both", 2 * HEARTBEAT_S)
        slow = len(producer.failures)  # while processes start on a busy machine
        for (leave, come), name in zip(brokers, ("broker-b", "broker-a"), strict=True):
            leave()
            time.sleep(0.2)  # what it acknowledged before comes out of the client
            alone = len(producer.acks)
            # A send that was under way is waited for until its time is up, 3 s.
            producer.wait_for(_acked(producer, alone + 50), "50 sends")
            seen.append(f"without {name}: {sorted({a.broker for a in producer.acks[alone:]})}")
            come()
            producer.wait_for(_acked_by_two(producer), "sends to both", 2 * HEARTBEAT_S)
        producer.stop()
        ids = {ack.id for ack in producer.acks}
        wait_received(consumer, ids, 3 * HEARTBEAT_S)
        # The one send under way when a broker leaves may have no time left for another broker.
        lost = producer.failures[slow:]
        seen.append(f"more failures than leaves: {len(lost) > len(brokers)}")
        seen.append(f"acknowledged once each: {len(ids) == len(producer.acks)}")
        seen.append(f"statuses: {sorted({ack.status for ack in producer.acks})}")
    return seen


def _acked(producer: Producing, count: int) -> Callable[[], bool]:
    """Return a condition: ``count`` sends are acknowledged."""
    return lambda: len(producer.acks) >= count


def _acked_by_two(producer: Producing) -> Callable[[], bool]:
    """Return whether two brokers have acknowledged something from now on."""
    begin = len(producer.acks)
    return lambda: len({ack.broker for ack in producer.acks[begin:]}) == 2


def routed(namesrv_addr: str, topic: str) -> set[str]:
    """Return the brokers that a name server names for a topic; none where it knows no route."""
    answer = call(namesrv_addr, frame(_GET_ROUTEINFO_BY_TOPIC, {"topic": topic}))
    _, _, body = split(answer)
    if not body:
        return set()
    route = TopicRouteData.decode(body)
    named = {queue.broker_name for queue in route.queue_datas}
    assert named == {broker.broker_name for broker in route.broker_datas}
    return {name for name in named if name is not None}


def real_ms_until(condition: Callable[[], bool], timeout_s: float) -> int:
    """Return how many real milliseconds passed until ``condition``. Raises TimeoutError."""
    began = time.monotonic()
    wait_until(condition, timeout_s)
    return round((time.monotonic() - began) * 1000)


class FakemqProcess:
    """``python -m fakemq ARGUMENTS`` alone in a folder that is its home, temp and current one.

    A context manager. ``config`` becomes the file that ``-c`` names; ``namesrv_addr`` and
    ``broker_addrs`` are what its ready line says.
    """

    def __init__(self, *arguments: str, config: Sequence[str] = ()) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="fakemq-process-")
        top = Path(self._temporary.name)
        self.home = top / "home"
        self._output = top / "output.txt"
        self.home.mkdir()
        command = [sys.executable, "-m", "fakemq", *arguments]
        if config:
            (top / "node.conf").write_text("".join(f"{line}\n" for line in config))
            command += ["-c", str(top / "node.conf")]
        home = str(self.home)
        with open(self._output, "wb") as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=home,
                env={**os.environ, "HOME": home, "TMPDIR": home, "PYTHONPATH": str(ROOT)},
            )
        self.namesrv_addr = ""
        self.broker_addrs: list[str] = []
        self.grpc_addr = ""
        """Where gRPC clients reach it; empty if they cannot."""

    def __enter__(self) -> Self:
        try:
            wait_until(lambda: self._ready() or self.process.poll() is not None, READY_TIMEOUT_S)
            if not self._ready():
                raise AssertionError(f"python -m fakemq is not ready:\n{self.output()}")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the process if it still runs and remove its folder."""
        self.process.kill()
        self.process.wait()
        self._temporary.cleanup()

    def output(self) -> str:
        """All that it printed."""
        return self._output.read_text()

    def files(self) -> list[str]:
        """Return what it has written into its folder."""
        return sorted(path.relative_to(self.home).as_posix() for path in self.home.rglob("*"))

    def terminate(self) -> int:
        """Send SIGTERM; return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_TIMEOUT_S)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()

    def _ready(self) -> bool:
        for line in self.output().splitlines(keepends=True):
            if line.startswith("fakemq ready: ") and line.endswith("\n"):
                said = line.removeprefix("fakemq ready: ").partition(" (pid")[0]
                namesrv, _, brokers = said.partition(", brokers ")
                # A name server alone listens on every address of this machine.
                port = namesrv.rpartition(":")[2]
                self.namesrv_addr = f"127.0.0.1:{port}"
                brokers, _, grpc = brokers.partition(", grpc ")
                self.broker_addrs = brokers.split()[1::2]
                self.grpc_addr = grpc.partition(",")[0]
                return True
        return False
