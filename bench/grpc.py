"""The gRPC front beside a real proxy of 5.5.0 in cluster mode: calls a second, p99, start, memory.

The load is a process with grpcio's own client, the same for both (`bench.grpc_load`). Java is a
name server, a broker and a proxy, which are paused in the fake's turns; the fake is one process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter
from typing import NamedTuple

from bench.family import resident_bytes
from bench.fill import fill_with_batches
from bench.grpc_load import Load
from bench.measure import ENVIRONMENT, Figure, Plan, Round, compared
from bench.process import ROOT, served
from bench.rivals import JAVA_CONFIG, JAVA_CONFIG_5_5_0, MEMORY_LIMIT, QUEUES
from conformance.targets.java_jars import NEWEST

TOPIC = "BenchGrpc"
SECONDS = 10
"""Of each load; half of it warms up."""
WARM_UP_S = 20
"""Of each of Java's loads before the first turn, beside the half of each load."""
TIMEOUT_S = WARM_UP_S + 120.0
BACKLOG = 60_000
"""Messages to be received in a turn."""
THREADS = (1, 16)
READY, MEMORY = "process start to first answered call", "resident memory, idle"
_MIB = 1 << 20


Turn = Callable[[], AbstractContextManager[None]]


class Side(NamedTuple):
    """A cluster that is ready, with the topic."""

    grpc_addr: str
    broker_addr: str
    ready_s: float
    resident_mib: float


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield start and memory, and with Java the loads of all rounds."""
    if not plan.java:
        with fake() as side:
            yield Figure(group="grpc", name=READY, value=side.ready_s, unit="s", at_most=1)
            yield Figure(group="grpc", name=MEMORY, value=side.resident_mib, unit="MiB", at_most=70)
        return
    with java() as (side, turn):
        yield from _beside(side)

        def once() -> dict[str, Round]:
            with turn():
                theirs = _loads(plan, side)
            with fake() as ours_side:
                ours = _loads(plan, ours_side)
            return {name: Round(java=theirs[name], fake=ours[name]) for name in theirs}

        rounds = plan.repeat(once)
    note = f"a proxy of {NEWEST} in cluster mode; grpcio's client"
    for name, pairs in rounds.items():
        if "p99" in name:
            yield compared("grpc", name, pairs, "ms", at_most=1.0, note=note)
        else:
            yield compared("grpc", name, pairs, "/s", at_least=1.0, note=note)


def _beside(java_side: Side) -> Iterator[Figure]:
    with fake() as side:
        ready = [Round(java=java_side.ready_s, fake=side.ready_s)]
        memory = [Round(java=java_side.resident_mib, fake=side.resident_mib)]
    yield compared("grpc", READY, ready, "s", at_most=1.0, note="name server, broker, front")
    yield compared("grpc", MEMORY, memory, "MiB", at_most=1.0, note="name server, broker, front")
    yield Figure(group="grpc", name=f"{READY}, alone", value=side.ready_s, unit="s", at_most=1)
    value = side.resident_mib
    yield Figure(group="grpc", name=f"{MEMORY}, alone", value=value, unit="MiB", at_most=70)


@contextmanager
def fake() -> Iterator[Side]:
    """Run the fake; stop it at the end."""
    begin_s = perf_counter()
    with served(*MEMORY_LIMIT, "--grpc-port", "0", "--topic", f"{TOPIC}:{QUEUES}") as one:
        addr = one.line.split("grpc ")[1].split(",")[0].split()[0]
        _wait(addr)
        ready_s, memory = perf_counter() - begin_s, resident_bytes(one.process.pid) / _MIB
        yield Side(addr, one.broker_addr, ready_s, memory)


@contextmanager
def java() -> Iterator[tuple[Side, Turn]]:
    """Run Java's three processes, paused outside of the turns that the second value begins."""
    from conformance.targets.java_cluster import JavaCluster
    from conformance.targets.java_proxy import java_proxy

    config = JAVA_CONFIG | JAVA_CONFIG_5_5_0
    begin_s = perf_counter()
    cluster = JavaCluster(masters=1, topics={TOPIC: QUEUES}, jvm=(), config=config, version=NEWEST)
    with cluster, java_proxy(cluster.namesrv_addr, jvm=()) as proxy:
        proxy.wait_ready()
        _wait(proxy.addr)
        ready_s = perf_counter() - begin_s
        nodes = (cluster.namesrv, *cluster.brokers, proxy)
        memory = sum(resident_bytes(node.pid) for node in nodes) / _MIB
        for kind in ("sends", "receives"):
            _loaded(proxy.addr, kind, THREADS[-1], WARM_UP_S)
        for node in nodes:
            node.pause()

        @contextmanager
        def turn() -> Iterator[None]:
            for node in nodes:
                node.resume()
            yield
            for node in nodes:
                node.pause()

        yield Side(proxy.addr, cluster.brokers[0].addr, ready_s, memory), turn


def _wait(addr: str) -> None:
    load = Load(addr, TOPIC)
    try:
        load.wait_for_route()
        load.send()
    finally:
        load.close()


def _loads(plan: Plan, side: Side) -> dict[str, float]:
    """Return the figures of one turn that are wanted, by name."""
    found: dict[str, float] = {}
    for kind, what in (("sends", "sends"), ("receives", "receives with acks")):
        for threads in THREADS:
            rate, p99 = f"{what}/s, {threads} in flight", f"p99 of {what}, {threads} in flight"
            if not (plan.wants(rate) or plan.wants(p99)):
                continue
            if kind == "receives":
                fill_with_batches(side.broker_addr, TOPIC, QUEUES, BACKLOG)
            values = _loaded(side.grpc_addr, kind, threads)
            found |= {rate: values["rate"], p99: values["p99_ms"]}
    return found


def _loaded(addr: str, kind: str, threads: int, seconds: int = SECONDS) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.grpc_load", addr, TOPIC, kind]
    done = subprocess.run(
        [*command, str(threads), str(seconds)],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    values: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return values
