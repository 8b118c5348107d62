"""Spark itself reads a cluster: by batch, by stream, from a checkpoint; errors reach the user."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PySparkException

from fakemq import Cluster
from fakemq.client import Client, Message

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Spark starts, and plans every query in a process of its own.
pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow]

Options = dict[str, str]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(masters=2, topics={"orders": 2}) as cluster:
        yield cluster


def send(cluster: Cluster, numbers: range) -> None:
    with Client(cluster.namesrv_addr) as client:
        for number in numbers:
            client.send(Message("orders", str(number), tags="even" if number % 2 == 0 else "odd"))


def batch(spark: SparkSession, cluster: Cluster, **given: str) -> DataFrame:
    options = {"nameServer": cluster.namesrv_addr, "subscribe": "orders"} | given
    return spark.read.format("rocketmq").options(**options).load()


def test_spark_reads_a_topic(spark: SparkSession, cluster: Cluster) -> None:
    send(cluster, range(100))
    frame = batch(spark, cluster, minPartitions="8", includeProperties="true")
    rows = frame.selectExpr("cast(value as string) as text", "properties['TAGS'] as tag").collect()
    assert sorted(int(row.text) for row in rows) == list(range(100))
    assert all(row.tag == ("odd" if int(row.text) % 2 else "even") for row in rows)
    assert frame.rdd.getNumPartitions() >= 8


def test_stream_continues_from_its_checkpoint(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    send(cluster, range(40))
    options = {"nameServer": cluster.namesrv_addr, "subscribe": "orders"}
    limits = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "25"}
    stream = spark.readStream.format("rocketmq").options(**options, **limits).load()

    def run() -> tuple[list[int], Any]:
        seen: list[int] = []

        def take(frame: DataFrame, _: int) -> None:
            seen.extend(int(bytes(row.value)) for row in frame.select("value").collect())

        query = (
            stream.writeStream.foreachBatch(take)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return seen, query.lastProgress

    first, progress = run()
    assert sorted(first) == list(range(40))
    assert progress["sources"][0]["latestOffset"] == progress["sources"][0]["endOffset"]
    cluster.broker("broker-a-0").restart()
    send(cluster, range(40, 60))
    second, _ = run()
    assert sorted(second) == list(range(40, 60)), "each once, whatever happened in between"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"subscribe": "order"}, "topic order has no route with readable queues at name server"),
        ({"nameServer": "127.0.0.1:1"}, "connect to [127.0.0.1:1] failed"),
        ({"startingOffset": "latest"}, "did you mean startingOffsets?"),
        ({"sql": "a > 5"}, "The broker does not support consumer to filter message by SQL92"),
    ],
)
def test_user_errors_reach_the_user(
    spark: SparkSession, cluster: Cluster, given: Options, expected: str
) -> None:
    send(cluster, range(4))
    with pytest.raises(PySparkException) as error:
        batch(spark, cluster, **given).collect()
    assert expected in str(error.value)
