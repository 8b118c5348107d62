"""A million messages read by Spark, beside Java's consumer and Spark's own reader of files.

Each reading is complete. Two readings that are compared are warm and take turns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench.drain import Drain
from bench.fill import fill_with_batches
from bench.measure import Figure, Plan, Round, compared
from bench.process import Running, served
from bench.rivals import JAVA_CONFIG, MEMORY_LIMIT
from bench.spark_session import log_files, read_all, store, topic
from conformance.targets.java_cluster import JavaCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC, QUEUES = "orders", 8
MESSAGES, BODY = 1_000_000, b"x" * 256
WARM_UPS = 2
"""For each reading; a JVM that has read less still compiles."""
LOG_FILE_BYTES = 64 << 20
_FAKE, _REAL = "the fake", "real 4.9.7"

Reading = Callable[[], float]
"""Reads everything once; returns messages a second."""


def figures(plan: Plan, spark: SparkSession) -> Iterator[Figure]:
    """Yield rows a second of a topic and of its store, with ratios."""
    with fake_cluster(LOG_FILE_BYTES, QUEUES) as (fake, folder):
        _fill(fake.broker_addr)
        yield from _topic(plan, spark, fake.namesrv_addr, _FAKE)
        yield from _store(plan, spark, folder / "broker-a-0", _FAKE)
    if not plan.java:
        return
    config = JAVA_CONFIG | {"mappedFileSizeCommitLog": str(LOG_FILE_BYTES)}
    with JavaCluster(jvm=(), config=config, topics={TOPIC: QUEUES}) as cluster:
        (broker,) = cluster.brokers
        _fill(broker.addr)
        yield from _topic(plan, spark, cluster.namesrv_addr, _REAL)
        broker.stop()
        yield from _store(plan, spark, broker.store, _REAL)


@contextmanager
def fake_cluster(log_file_bytes: int, queues: int) -> Iterator[tuple[Running, Path]]:
    """Run a fake with a topic; its stores are in a folder, in log files of the given size."""
    with TemporaryDirectory(prefix="fakemq-bench-") as name:
        config = Path(name, "broker.conf")
        config.write_text(f"mappedFileSizeCommitLog={log_file_bytes}\n")
        options = ("-c", str(config), "--store", name, "--topic", f"{TOPIC}:{queues}")
        with served(*MEMORY_LIMIT, *options) as fake:
            yield fake, Path(name)


def _fill(broker_addr: str) -> None:
    fill_with_batches(broker_addr, TOPIC, QUEUES, MESSAGES, BODY)


def _topic(plan: Plan, spark: SparkSession, namesrv_addr: str, where: str) -> Iterator[Figure]:
    """Measure Spark's reading of a topic, beside Java's if Java is available."""
    name = f"rows/s of a topic, {where}"
    if not plan.wants(name):
        return

    def ours() -> float:
        read = read_all(topic(spark, namesrv_addr, TOPIC))
        _require_all(read.rows, read.value_bytes)
        return read.rows / read.seconds

    if not plan.java:
        yield Figure(group="spark", name=name, value=_warm(plan, ours), unit="/s")
        return
    with Drain(namesrv_addr, TOPIC) as consumer:

        def theirs() -> float:
            drained = consumer.once()
            _require_all(drained.messages, drained.body_bytes)
            return drained.messages / drained.micros * 1e6

        note = "Java: its pull consumer, a thread for each queue"
        yield compared("spark", name, in_turns(plan.rounds, theirs, ours), "/s", note=note)


def _store(plan: Plan, spark: SparkSession, root: Path, where: str) -> Iterator[Figure]:
    """Measure our reading of a store's full log files, beside Spark's reading of the same files."""
    name = f"rows/s of a store, {where}"
    if not plan.wants(name):
        return
    with TemporaryDirectory(prefix="fakemq-bench-", dir=root.parent) as folder:
        files = link_log_files(root, Path(folder))
        rows = read_all(store(spark, Path(folder))).rows

        def whole() -> float:
            read = read_all(log_files(spark, Path(folder)), "content")
            if (read.rows, read.value_bytes) != (files, files * LOG_FILE_BYTES):
                raise ValueError(f"binaryFile read {read} of {files} files")
            return rows / read.seconds

        def ours() -> float:
            return rows / read_all(store(spark, Path(folder))).seconds

        mib = files * LOG_FILE_BYTES >> 20
        note = f"in the place of Java: binaryFile, which reads the same {mib} MiB whole"
        yield compared("spark", name, in_turns(plan.rounds, whole, ours), "/s", note=note)


def link_log_files(root: Path, folder: Path, count: int | None = None) -> int:
    """Link the first full log files of a store into a new store. Return their number."""
    found = sorted((root / "commitlog").iterdir())[:-1][:count]
    (folder / "commitlog").mkdir(parents=True)
    for path in found:
        os.link(path, folder / "commitlog" / path.name)
    return len(found)


def in_turns(rounds: int, theirs: Reading, ours: Reading) -> list[Round]:
    """Return the values of each round, once both readings are warm."""
    both = [Round(java=theirs(), fake=ours()) for _ in range(WARM_UPS + rounds)]
    return both[WARM_UPS:]


def _warm(plan: Plan, ours: Reading) -> float:
    return max([ours() for _ in range(WARM_UPS + plan.rounds)][WARM_UPS:])


def _require_all(messages: int, body_bytes: int) -> None:
    if (messages, body_bytes) != (MESSAGES, MESSAGES * len(BODY)):
        raise ValueError(f"{messages} messages of {body_bytes} bytes were read of {MESSAGES}")
