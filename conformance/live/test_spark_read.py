"""What Spark reads from a real broker: each message once, by offset, time, tags and SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa  # type: ignore[import-untyped]

from conformance.targets.java_cluster import JavaCluster
from conformance.targets.replicas import Node, java_slave, wait_in_step
from fakemq.client import Client, Message
from fakemq.clock.machine_time import real_wait_ms, real_wall_ms
from fakemq.spark.options import Options
from fakemq.spark.reading.batch_reader import RocketMQReader
from fakemq.spark.reading.options import read_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# It starts two JVMs, and Spark's where no other test did.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

COUNT, QUEUES = 400, 3


@pytest.fixture(scope="module")
def cluster(java: None) -> Iterator[JavaCluster]:
    config = {"enablePropertyFilter": "true"}
    with JavaCluster(topics={"orders": QUEUES}, config=config) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def middle_ms(cluster: JavaCluster) -> int:
    """A time with half of the messages before it, in every queue."""
    with Client(cluster.namesrv_addr) as client:
        send(client, range(COUNT // 2))
        real_wait_ms(20)
        between_ms = real_wall_ms()
        real_wait_ms(20)
        send(client, range(COUNT // 2, COUNT))
    return between_ms


def send(client: Client, numbers: range) -> None:
    queues = client.publish_queues("orders")
    for number in numbers:
        # "Aa" and "BB" have one hash, by which a broker chooses.
        message = Message("orders", str(number), tags=("Aa", "BB", "c")[number % 3])
        message.properties["number"] = str(number)
        client.send(message, queue=queues[number // 7 % len(queues)])


def options(cluster: JavaCluster, **given: str) -> dict[str, str]:
    return {"nameServer": cluster.namesrv_addr, "subscribe": "orders"} | given


def numbers(frame: DataFrame) -> list[int]:
    return sorted(row.number for row in frame.selectExpr("int(string(value)) as number").collect())


def test_batch_is_exact(spark: SparkSession, cluster: JavaCluster, middle_ms: int) -> None:
    def read(**given: str) -> list[int]:
        loaded = spark.read.format("rocketmq").options(**options(cluster, **given)).load()
        return numbers(loaded)

    half = COUNT // 2
    assert read(minPartitions="7") == list(range(COUNT))
    assert read(startingTimestamp=str(middle_ms)) == list(range(half, COUNT))
    assert read(endingTimestamp=str(middle_ms)) == list(range(half))
    assert read(tags="BB || c") == [one for one in range(COUNT) if one % 3]
    assert read(sql="number BETWEEN 98 AND 101 AND TAGS <> 'c'") == [99, 100]


def test_stream_continues_after_a_restart_of_the_broker(
    spark: SparkSession, cluster: JavaCluster, middle_ms: int, tmp_path: Path
) -> None:
    given = options(cluster, startingTimestamp=str(middle_ms), maxOffsetsPerTrigger="150")
    stream = spark.readStream.format("rocketmq").options(**given).load()
    seen: list[int] = []

    def take(frame: DataFrame, _: int) -> None:
        seen.extend(numbers(frame))

    def run() -> None:
        writer = stream.writeStream.foreachBatch(take).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        query.awaitTermination()

    run()
    assert sorted(seen) == list(range(COUNT // 2, COUNT))
    broker = cluster.brokers[0]
    broker.stop()
    broker.start()
    with Client(cluster.namesrv_addr) as client:
        send(client, range(COUNT, COUNT + 50))
    run()
    assert sorted(seen) == list(range(COUNT // 2, COUNT + 50))


def test_spark_reads_from_the_slave_of_a_lost_master(java: None, tmp_path: Path) -> None:
    with ExitStack() as stack:
        cluster = stack.enter_context(JavaCluster(topics={"orders": QUEUES}))
        master = cluster.broker("broker-a")
        node = Node(cluster.namesrv_addr, master.addr, master.store)
        slave = stack.enter_context(java_slave(tmp_path, {}, node))
        with Client(cluster.namesrv_addr) as client:
            send(client, range(COUNT))
        wait_in_step(node, slave)
        given = Options("rocketmq", options(cluster, pullBatchSize="8"))
        reader = RocketMQReader(read_options(given, streaming=False))
        partitions = reader.partitions()
        assert len(partitions) == QUEUES
        reading = reader.read(partitions[0])
        seen = [int(value) for value in values(reader.read(partitions[1]))]
        master.kill()
        for batches in (reading, reader.read(partitions[2])):
            seen += [int(value) for value in values(batches)]
    assert sorted(seen) == list(range(COUNT))


def values(batches: Iterator[pa.RecordBatch]) -> list[bytes]:
    return [value for batch in batches for value in batch["value"].to_pylist()]
