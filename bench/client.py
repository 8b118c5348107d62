"""The Python client beside Java's, in turns, at the same real broker of 4.9.7.

Java's numbers are those of RocketMQ's own benchmark programs with a 5.5.0 client, warm, as in
`bench.traffic`; the Python client's come from `bench.client_load`. The broker takes a part of the
same cores in either turn.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from statistics import median

from bench.benchmark import WARM_UP_REPORTS, Benchmark, run
from bench.client_load import IN_FLIGHT, SECONDS
from bench.fill import fill_with_batches
from bench.measure import ENVIRONMENT, Figure, Plan, Round, compared
from bench.process import ROOT
from bench.rivals import QUEUES, ROUTE_TIMEOUT_S, Rivals, Side
from bench.traffic import last_busy
from conformance.targets.java_cluster import wait_until
from conformance.targets.processes import routed
from conformance.wire.raw import create_topic

BACKLOG = 4_500_000
"""More than either client consumes until it has been measured."""
WARM_UP_S = 8
TIMEOUT_S = SECONDS + 60.0
SENDS = {
    "threads": f"sends/s of the Python client, {IN_FLIGHT} threads",
    "tasks": f"sends/s of the Python client, {IN_FLIGHT} tasks of asyncio",
}
CONSUMED = "push-consumed/s of the Python client, 20 threads"
TARGET = 0.5
"""Of what Java's client does."""


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield the Python client's figures beside Java's; nothing without Java."""
    names = [name for name in (*SENDS.values(), CONSUMED) if plan.wants(name)]
    if not plan.java or not names:
        return
    with Rivals() as rivals:

        def once() -> dict[str, Round]:
            with rivals.java() as side:
                return dict(_round(side, names))

        found = plan.repeat(once)
    for name in names:
        yield compared("client", name, found[name], "/s", at_least=TARGET)


def _round(side: Side, names: list[str]) -> Iterator[tuple[str, Round]]:
    """Yield each figure's values, Java's client and the Python client in turns."""
    sends = {kind: name for kind, name in SENDS.items() if name in names}
    if sends:
        java = _java_sends(side)
        for kind, name in sends.items():
            yield name, Round(java=java, fake=_python(side, side.topic, kind))
    if CONSUMED in names:
        topic = f"{side.topic}Backlog"
        create_topic(side.broker_addr, topic, QUEUES)
        wait_until(lambda: bool(routed(side.namesrv_addr, topic)), ROUTE_TIMEOUT_S)
        fill_with_batches(side.broker_addr, topic, QUEUES, BACKLOG)
        # The slower one first: behind the other all of the log is in the page cache.
        python = _python(side, topic, "consumes")
        yield CONSUMED, Round(java=_java_consumes(side, topic), fake=python)


def _java_sends(side: Side) -> float:
    report = run("Producer", side.namesrv_addr, side.topic, "-w", str(IN_FLIGHT))
    return report["Send TPS"]


def _java_consumes(side: Side, topic: str) -> float:
    with closing(Benchmark("Consumer", side.namesrv_addr, topic)) as benchmark:
        reports = [benchmark.report(number) for number in range(1, WARM_UP_REPORTS + 1)]
    return last_busy(reports)["Consume TPS"]


def _python(side: Side, topic: str, kind: str) -> float:
    """Return what the Python client did in a typical second, once it is warm."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.client_load", side.namesrv_addr, topic, kind],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=ENVIRONMENT | {"PYTHONPATH": str(ROOT)},
        timeout=TIMEOUT_S,
    )
    seconds = [int(line) for line in done.stdout.split()]
    if done.returncode != 0 or len(seconds) != SECONDS:
        raise RuntimeError(f"python -m bench.client_load ended with {done.returncode}: {seconds}")
    return median(seconds[WARM_UP_S:])
