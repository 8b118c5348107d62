"""What reading costs, measured without a stopwatch: requests, parts, calls, what the driver keeps.

``python -m bench spark`` has the seconds.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa  # type: ignore[import-untyped]

from fakemq import Cluster
from fakemq.events import RequestReceived
from fakemq.protocol.codes import RequestCode
from fakemq.spark.options import Options
from fakemq.spark.reading.batch_reader import RocketMQReader
from fakemq.spark.reading.options import read_options
from fakemq.spark.store_source import StoreReader, store_fields
from fakemq.spark.stores.options import store_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSourceReader, InputPartition

QUEUES = {"short": 1, "long": 1, "several": 20, "few": 100, "many": 1_000}
MESSAGES = {"short": 1_600, "long": 6_400, "several": 20, "few": 100, "many": 1_000}
BODY = b"x" * 256
PER_PULL = 32
FILE_BYTES = 16_384
FILES = (4, 16, 64)
STEADY = 1.1
"""What does not grow with what is read may take a little more."""
CALLS_PER_MESSAGE = 6
KEPT_BYTES = 8 << 20
"""For what Spark notes down of each task."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(topics=QUEUES) as cluster:
        for topic, count in MESSAGES.items():
            cluster.seed(topic, [BODY] * count)
        yield cluster


def reader(cluster: Cluster, topic: str) -> RocketMQReader:
    given = {"nameServer": cluster.namesrv_addr, "subscribe": topic}
    return RocketMQReader(read_options(Options("rocketmq", given), streaming=False))


@contextmanager
def requests(cluster: Cluster) -> Iterator[Counter[int]]:
    """Counts what clients ask meanwhile, by code; it is there at the end."""
    before = cluster.journal.tail(1)[0]
    counted: Counter[int] = Counter()
    yield counted
    counted.update(one.code for one in cluster.journal.find(RequestReceived, since=before))


def calls(do: Callable[[], object]) -> int:
    """How many functions are called by this thread, of Python's and of C's."""
    count = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        do()
    finally:
        sys.setprofile(before)
    return count


def rows(reading: DataSourceReader) -> int:
    parts = reading.partitions()
    return sum(batch.num_rows for part in parts for batch in batches(reading, part))


def batches(reading: DataSourceReader, part: InputPartition) -> Iterator[pa.RecordBatch]:
    for batch in reading.read(part):
        assert isinstance(batch, pa.RecordBatch)
        yield batch


def test_planning_requests_do_not_grow_with_queues(cluster: Cluster) -> None:
    asked = {}
    for topic in QUEUES:
        with requests(cluster) as asked[topic]:
            parts = reader(cluster, topic).partitions()
            assert sum(len(part.value) for part in parts) == QUEUES[topic]
            assert len(parts) <= 100, "short queues share partitions"
    assert all(one == asked["short"] for one in asked.values())
    assert asked["short"].total() == 2, "the route, and where all queues begin and end"


def test_planning_work_is_linear_in_queues(cluster: Cluster) -> None:
    few, many = (calls(reader(cluster, topic).partitions) for topic in ("few", "many"))
    assert many / QUEUES["many"] < STEADY * few / QUEUES["few"]


def test_queue_is_pulled_once_from_begin_to_end(cluster: Cluster) -> None:
    others = {}
    for topic in ("short", "long"):
        with requests(cluster) as asked:
            assert rows(reader(cluster, topic)) == MESSAGES[topic]
        assert asked.pop(RequestCode.PULL_MESSAGE) == MESSAGES[topic] / PER_PULL
        others[topic] = asked
    assert others["short"] == others["long"], "the longer queue is pulled more, nothing else"


def test_reading_work_is_linear_in_messages(cluster: Cluster) -> None:
    short, long = (calls(partial(rows, reader(cluster, topic))) for topic in ("short", "long"))
    assert long / MESSAGES["long"] < STEADY * short / MESSAGES["short"]
    assert long / MESSAGES["long"] < CALLS_PER_MESSAGE, "columns are made of many messages at once"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The first files of one commit log as stores of their own, by how many they are."""
    folder = tmp_path_factory.mktemp("stores")
    config = {"mappedFileSizeCommitLog": str(FILE_BYTES)}
    with Cluster(store=str(folder / "whole"), topics={"orders": 1}, config=config) as cluster:
        cluster.seed("orders", [BODY] * (FILES[-1] * FILE_BYTES // len(BODY)))
    log = sorted((folder / "whole" / "broker-a-0" / "commitlog").iterdir())
    found = {}
    for count in FILES:
        found[count] = folder / str(count)
        (found[count] / "commitlog").mkdir(parents=True)
        for path in log[:count]:
            os.link(path, found[count] / "commitlog" / path.name)
    return found


def store_reader(root: Path) -> StoreReader:
    options = store_options(Options("rocketmq-store", {"path": str(root)}))
    schema = pa.schema([(name, arrow) for name, _, arrow in store_fields(options)])
    return StoreReader(options, schema)


def test_file_is_a_part_of_constant_work(stores: dict[int, Path]) -> None:
    each = {}
    for count, root in stores.items():
        assert len(store_reader(root).partitions()) == count
        assert count * FILE_BYTES / 450 < rows(store_reader(root)) < count * FILE_BYTES / 350
        each[count] = calls(partial(rows, store_reader(root))) / count
    few, some, many = each.values()
    assert many < STEADY * some < STEADY * STEADY * few


@pytest.mark.slow  # starts the session, if it is the first of the run
@pytest.mark.xdist_group("spark")
def test_driver_keeps_no_data(spark: SparkSession, cluster: Cluster) -> None:
    held = []
    for topic in ("short", "several", "long"):
        source = spark.read.format("rocketmq").option("nameServer", cluster.namesrv_addr)
        frame = source.option("subscribe", topic).load()
        with requests(cluster) as asked:
            row = frame.selectExpr("count(*)", "sum(length(value))").first()
        assert row is not None
        assert tuple(row) == (MESSAGES[topic], MESSAGES[topic] * len(BODY))
        pulls = max(MESSAGES[topic] / PER_PULL, QUEUES[topic])
        assert asked[RequestCode.PULL_MESSAGE] == pulls, "each part is read by one task, once"
        held.append(heap_bytes(spark))
    assert max(held) - held[0] < KEPT_BYTES


def heap_bytes(spark: SparkSession) -> int:
    """What the driver's JVM holds after a collection."""
    jvm = spark._jvm
    assert jvm is not None
    runtime = jvm.java.lang.Runtime.getRuntime()
    runtime.gc()
    used: int = runtime.totalMemory() - runtime.freeMemory()
    return used
