"""``python -m fakemq`` measured from outside: ready time, memory, idle processor time."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from time import perf_counter

from bench.family import TICKS_PER_S, resident_bytes, used_s, waited_s
from bench.measure import ENVIRONMENT, Figure, Plan, Round, compared

ROOT = Path(__file__).parents[1]


def _tree() -> Path:
    spec = importlib.util.find_spec("fakemq")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parents[1]


TREE = _tree()
"""The folder of the fakemq that is measured: this checkout, or where a wheel was installed."""
WITHOUT_UVLOOP = Path(__file__).parent / "without_uvloop"
READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
"""Recovering or writing a gigabyte takes seconds, and more on a busy machine."""
IDLE_S = 10.0
IDLE_CLIENTS = 10
_MEMORY = "memory of name server and master"
_MIB = 1 << 20
_TICK_MS = 1000 / TICKS_PER_S


FREE_PORTS = ("--namesrv-port", "0", "--broker-port", "0")


class Running:
    """A ready ``python -m fakemq ARGUMENTS``; ``ready_ms`` is the time since it was executed.

    In ``waited_ms`` of them it could run, but other processes had the processor. ``tree`` is the
    folder with the fakemq that it runs.
    """

    def __init__(self, *arguments: str, tree: Path = TREE) -> None:
        begin = perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fakemq", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=tree,
            env=ENVIRONMENT | {"PYTHONPATH": f"{WITHOUT_UVLOOP}{os.pathsep}{tree}"},
        )
        assert self.process.stdout is not None
        watchdog = threading.Timer(READY_TIMEOUT_S, self.process.kill)
        watchdog.start()
        self.line = self.process.stdout.readline()
        self.ready_ms = 1000 * (perf_counter() - begin)
        self.waited_ms = 1000 * waited_s(self.process.pid)
        watchdog.cancel()
        if "fakemq ready" not in self.line:
            self.close()
            raise RuntimeError(f"python -m fakemq is not ready: {self.line!r}")

    @property
    def namesrv_addr(self) -> str:
        """The address of the name server, from the ready line."""
        return self.line.split("namesrv ")[1].split(",")[0]

    @property
    def broker_addr(self) -> str:
        """The address of the first master."""
        return self.addr_of("broker-a-0")

    def addr_of(self, node: str) -> str:
        """Return the address of a broker."""
        return self.line.split(f"{node} ")[1].split()[0].rstrip(",")

    def close(self) -> None:
        """Send SIGTERM, and SIGKILL if the process does not end."""
        self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()


@contextmanager
def running(*arguments: str) -> Iterator[Running]:
    """Run ``python -m fakemq ARGUMENTS``; stop it at the end."""
    one = Running(*arguments)
    try:
        yield one
    finally:
        one.close()


def served(*arguments: str) -> AbstractContextManager[Running]:
    """Run a cluster on free ports; stop it at the end."""
    return running(*FREE_PORTS, *arguments)


def connected(addr: str) -> socket.socket:
    """Open a connection to ``host:port``."""
    host, _, port = addr.rpartition(":")
    return socket.create_connection((host, int(port)), READY_TIMEOUT_S)


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure ready time, memory beside Java's, and idle CPU."""
    ready = []
    for _ in range(plan.runs):
        with served() as one:
            ready.append(one.ready_ms)
    yield Figure(
        group="process", name="python -m fakemq: executed to ready", value=min(ready), unit="ms",
        at_most=300, note=f"bytecode cached; slowest of {plan.runs}: {max(ready):.0f} ms",
    )  # fmt: skip
    with served() as one:
        ours = resident_bytes(one.process.pid)
    if plan.java:
        yield from _beside_java(ours)
    else:
        note = "resident, before messages"
        yield Figure(group="process", name=_MEMORY, value=ours / _MIB, unit="MiB", note=note)
    for clients in (0, IDLE_CLIENTS):
        with served() as one, ExitStack() as stack:
            for _ in range(clients):
                stack.enter_context(connected(one.broker_addr))
            time.sleep(0.5)  # so that the rest of the start is not counted
            before = used_s(one.process.pid)
            time.sleep(IDLE_S)
            used = round(1000 * (used_s(one.process.pid) - before))
        yield Figure(
            group="process", name=f"CPU in {IDLE_S:g} idle seconds, {clients} clients", value=used,
            unit="ms", at_most=_TICK_MS, note=f"counted in ticks of {_TICK_MS:g} ms",
        )  # fmt: skip


def _beside_java(ours: int) -> Iterator[Figure]:
    from conformance.targets.java_cluster import SMALL_JVM, JavaCluster

    heaps = {
        "": ((), "the JVM's own defaults; mqnamesrv and mqbroker ask for heaps of 4 and 8 GiB"),
        ", small heaps": (SMALL_JVM, f"Java's smallest: {' '.join(SMALL_JVM)}"),
    }
    for heap, (jvm, note) in heaps.items():
        with JavaCluster(masters=1, jvm=jvm) as cluster:
            theirs = sum(resident_bytes(node.pid) for node in (cluster.namesrv, *cluster.brokers))
        pair = Round(java=theirs / _MIB, fake=ours / _MIB)
        at_most = None if jvm else 0.1
        yield compared("process", f"{_MEMORY}{heap}", [pair], "MiB", at_most=at_most, note=note)
