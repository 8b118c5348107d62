"""Stores in directories beside Java's: appends per second, and the time of a recovery."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

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
LEAST_S = 0.1
"""What a recovery is taken to last at least: the start itself varies from run to run."""
_COPIED, _STOPPED, _CRASHED = "clean stop, in a copy", "clean stop", "crash"
_KINDS = (_COPIED, _STOPPED, _CRASHED)
"""In the order of the measurement: what a start on a copy left is what the next one begins with."""
_NOTHING = "nothing"


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
    """Measure starts on a gigabyte for each kind of end, and how much longer than on nothing.

    The fake serves as soon as the log and its queues are in order; after a crash, Java then has its
    index, too.
    """
    names = {
        kind: (f"recovery of 1 GB after a {kind}", f"whole start on 1 GB after a {kind}")
        for kind in _KINDS
    }
    wanted = [kind for kind in _KINDS if any(map(plan.wants, names[kind]))]
    if not wanted or not plan.java:
        return
    with _folder() as folder, JavaCluster(jvm=(), config=JAVA_CONFIG) as cluster:
        (broker,) = cluster.brokers
        broker.stop()
        _fill(folder / "full")
        rounds = [_starts(folder, broker) for _ in plan.turns()]
    for kind in wanted:
        note = "its index is built afterwards" if kind == _CRASHED else ""
        longer, whole = names[kind]
        for name, starts in (
            (longer, [Round(_more(one.java, kind), _more(one.fake, kind)) for one in rounds]),
            (whole, [Round(one.java[kind], one.fake[kind]) for one in rounds]),
        ):
            if plan.wants(name):
                yield compared("store", name, starts, "s", at_most=1.0, note=note)


class _Starts(NamedTuple):
    """Seconds of starts by what they begin with: a kind of end, or nothing."""

    java: dict[str, float]
    fake: dict[str, float]


def _starts(folder: Path, broker: JavaBroker) -> _Starts:
    """Start both on nothing, on copies of the same store, and once more on the first copy."""
    full, fake, java = folder / "full" / NODE, folder / "fake" / NODE, folder / "java"
    for used in fake.parent, java:
        shutil.rmtree(used, ignore_errors=True)
    found = _Starts({_NOTHING: _java_s(broker, java)}, {_NOTHING: _fake_s(fake)})
    for kind in _KINDS:
        if kind != _STOPPED:
            _copy(full, java, kind)
            _copy(full, fake, kind)
        # A store that is measured once more needs a clean stop. Another is thrown away: after a
        # crash its index would be finished first.
        clean = kind == _COPIED
        found.java[kind] = _java_s(broker, java, clean=clean)
        found.fake[kind] = _fake_s(fake, clean=clean)
    shutil.rmtree(java)
    shutil.rmtree(fake)
    return found


def _more(starts: dict[str, float], kind: str) -> float:
    return max(starts[kind] - starts[_NOTHING], LEAST_S)


def _fill(folder: Path) -> None:
    """Make a store that was stopped, of one node in ``folder``."""
    with served("--store", str(folder), "--topic", f"{TOPIC}:{QUEUES}") as fake:
        fill_with_batches(fake.broker_addr, TOPIC, QUEUES, RECOVERED, RECOVERED_BODY)


def _copy(store: Path, to: Path, kind: str) -> None:
    """Make a copy in the state of a clean stop or a crash; it replaces the last copy."""
    shutil.rmtree(to, ignore_errors=True)
    to.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", "-a", "--sparse=always", str(store), str(to)], check=True)
    # Otherwise the first flush of a start would write the whole copy to the disk.
    subprocess.run(["sync", *filter(Path.is_file, to.rglob("*"))], check=True)
    if kind == _CRASHED:
        (to / "abort").touch()


def _fake_s(node: Path, *, clean: bool = False) -> float:
    with served("--store", str(node.parent)) as fake:
        if not clean:
            fake.process.kill()
        return fake.ready_ms / 1000


def _java_s(broker: JavaBroker, store: Path, *, clean: bool = False) -> float:
    broker.config |= {"storePathRootDir": str(store), "storePathCommitLog": f"{store}/commitlog"}
    begin = perf_counter()
    broker.start()
    passed_s = perf_counter() - begin
    if clean:
        broker.stop()
    else:
        broker.kill()
    return passed_s


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a temporary folder on the machine's usual disk."""
    with TemporaryDirectory(prefix="fakemq-bench-") as name:
        yield Path(name)
