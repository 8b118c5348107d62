"""Stores in directories beside Java's: appends per second, and the time of a recovery."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from bench.benchmark import run
from bench.fill import fill_with_batches
from bench.measure import Figure, Plan, Round, compared
from bench.process import served
from bench.rivals import JAVA_CONFIG, Rivals, Side
from conformance.targets.java_cluster import JavaBroker, JavaCluster

THREADS = 16
TOPIC, QUEUES = "orders", 8
NODE = "broker-a-0"
"""Of the fake."""
RECOVERED, RECOVERED_BODY = 800_000, b"x" * 1024
"""A gigabyte of log in one file: 4.9.7 reads all of it, because it checks the last file."""
_KINDS = ("clean stop", "crash")


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure appends by the same client, then recoveries of the same directory."""
    for part, flush in ((0.33, "ASYNC_FLUSH"), (0.5, "SYNC_FLUSH")):
        yield from _appends(plan.part(part), flush)
    yield from _recoveries(plan)


# -- appends ----------------------------------------------------------------------------------


def _appends(plan: Plan, flush: str) -> Iterator[Figure]:
    name = f"appends/s, {THREADS} threads, directory, {flush}"
    if not plan.wants(name) or not plan.java:
        return
    with Rivals(flushDiskType=flush) as rivals:

        def once() -> dict[str, Round]:
            with rivals.java() as side:
                java = _sends(side)
            with _folder() as folder, rivals.fake("--store", str(folder), "--flush", flush) as side:
                return {name: Round(java=java, fake=_sends(side))}

        found = plan.repeat(once)
    yield compared("store", name, found[name], "/s", at_least=1.0, note=f"Java: {flush}")


def _sends(side: Side) -> float:
    return run("Producer", side.namesrv_addr, side.topic, "-w", str(THREADS))["Send TPS"]


# -- recovery ---------------------------------------------------------------------------------


def _recoveries(plan: Plan) -> Iterator[Figure]:
    """Measure starts on a gigabyte, for each kind of end, and how much longer than on nothing.

    The fake serves as soon as the log and its queues are in order; Java then has its index, too.
    """
    names = {
        (kind, what): f"{what} of 1 GB after a {kind}"
        for kind in _KINDS
        for what in ("recovery", "whole start")
    }
    if not plan.java or not any(map(plan.wants, names.values())):
        return
    with _folder() as folder, JavaCluster(jvm=(), config=JAVA_CONFIG) as cluster:
        full = folder / "full"
        _fill(full)
        (broker,) = cluster.brokers
        broker.stop()

        def once() -> dict[str, Round]:
            for name in ("none", "no"):
                shutil.rmtree(folder / name, ignore_errors=True)
            nothing = Round(
                java=_java_s(broker, folder / "none"), fake=_fake_s(folder / "no" / NODE)
            )
            both = {}
            for kind in _KINDS:
                java_s = _java_s(broker, _copied(full / NODE, folder / "java", kind))
                fake_s = _fake_s(_copied(full / NODE, folder / "fake" / NODE, kind))
                both[names[kind, "whole start"]] = Round(java=java_s, fake=fake_s)
                both[names[kind, "recovery"]] = Round(
                    java=max(java_s - nothing.java, 0.001), fake=max(fake_s - nothing.fake, 0.001)
                )
            return both

        found = plan.repeat(once)
    for name in filter(plan.wants, names.values()):
        note = "longer than a start on nothing" if name.startswith("recovery") else ""
        yield compared("store", name, found[name], "s", at_most=1.0, note=note)


def _fill(folder: Path) -> None:
    """Make a store that was stopped, of one node in ``folder``."""
    with served("--store", str(folder), "--topic", f"{TOPIC}:{QUEUES}") as fake:
        fill_with_batches(fake.broker_addr, TOPIC, QUEUES, RECOVERED, RECOVERED_BODY)


def _copied(store: Path, to: Path, kind: str) -> Path:
    """Return a copy in the state of a clean stop or a crash; it replaces the last copy."""
    shutil.rmtree(to, ignore_errors=True)
    to.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", "-a", "--sparse=always", str(store), str(to)], check=True)
    if kind == "crash":
        (to / "abort").touch()
    return to


def _fake_s(node: Path) -> float:
    with served("--store", str(node.parent)) as fake:
        return fake.ready_ms / 1000


def _java_s(broker: JavaBroker, store: Path) -> float:
    broker.config |= {"storePathRootDir": str(store), "storePathCommitLog": f"{store}/commitlog"}
    begin = perf_counter()
    broker.start()
    passed_s = perf_counter() - begin
    broker.stop()
    return passed_s


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a temporary folder on the machine's usual disk."""
    with TemporaryDirectory(prefix="fakemq-bench-") as name:
        yield Path(name)
