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
RECOVERED, RECOVERED_BODY = 800_000, b"x" * 1024
"""A gigabyte of log in one file: 4.9.7 reads all of it, because it checks the last file."""
_KINDS = ("clean stop", "crash")


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure appends by the same client, then recoveries of the same directory."""
    yield from _appends(plan)
    yield from _recoveries(plan)


# -- appends ----------------------------------------------------------------------------------


def _appends(plan: Plan) -> Iterator[Figure]:
    """Measure both kinds of flush in a directory; in memory beside Java's faster one."""
    for flush, others in (("ASYNC_FLUSH", ("memory",)), ("SYNC_FLUSH", ())):
        places = {
            f"appends/s, {THREADS} threads, {place}": place
            for place in (*others, f"directory, {flush}")
        }
        wanted = {name: place for name, place in places.items() if plan.wants(name)}
        if not wanted or not plan.java:
            continue
        with Rivals(flushDiskType=flush) as rivals:
            rounds = [_round(rivals, flush, wanted) for _ in range(plan.rounds)]
        note = f"Java: {flush}"
        for name in wanted:
            yield compared("store", name, [one[name] for one in rounds], "/s", note=note)


def _round(rivals: Rivals, flush: str, wanted: dict[str, str]) -> dict[str, Round]:
    with rivals.java() as side:
        java = _sends(side)
    found = {}
    for name, place in wanted.items():
        with _fake(rivals, flush, on_disk=place != "memory") as side:
            found[name] = Round(java=java, fake=_sends(side))
    return found


@contextmanager
def _fake(rivals: Rivals, flush: str, *, on_disk: bool) -> Iterator[Side]:
    if not on_disk:
        with rivals.fake() as side:
            yield side
        return
    with _folder() as folder, rivals.fake("--store", str(folder), "--flush", flush) as side:
        yield side


def _sends(side: Side) -> float:
    return run("Producer", side.namesrv_addr, side.topic, "-w", str(THREADS))["Send TPS"]


# -- recovery ---------------------------------------------------------------------------------


def _recoveries(plan: Plan) -> Iterator[Figure]:
    """Measure how much longer a start takes on a gigabyte than on nothing, for each kind of end.

    The fake serves as soon as the log and its queues are in order; Java then has its index, too.
    """
    names = {kind: f"recovery of 1 GB after a {kind}" for kind in _KINDS}
    if not any(map(plan.wants, names.values())):
        return
    with _folder() as folder:
        full, empty = folder / "full", folder / "empty"
        _fill(full)
        fake = {
            kind: _fake_s(_copied(full / NODE, folder / "fake" / NODE, kind)) for kind in _KINDS
        }
        nothing_s = _fake_s(empty / NODE)
        java, java_nothing_s = {}, 0.0
        if plan.java:
            with JavaCluster(jvm=(), config=JAVA_CONFIG) as cluster:
                (broker,) = cluster.brokers
                broker.stop()
                java_nothing_s = _java_s(broker, folder / "nothing")
                for kind in _KINDS:
                    java[kind] = _java_s(broker, _copied(full / NODE, folder / "java", kind))
    for kind, name in names.items():
        fake_s = max(fake[kind] - nothing_s, 0.001)
        later = "its index is built afterwards; " if kind == "crash" else ""
        note = f"{later}whole start {fake[kind]:.1f} s"
        if kind in java:
            once = Round(java=max(java[kind] - java_nothing_s, 0.001), fake=fake_s)
            note += f", Java's {java[kind]:.1f} s"
            yield compared("store", name, [once], "s", note=note)
        else:
            yield Figure(group="store", name=name, value=fake_s, unit="s", note=note)


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
