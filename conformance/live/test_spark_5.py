"""What Spark writes to a real 5.5.0 broker, reads back, and copies from topic to topic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.targets.java_cluster import JavaCluster, wait_until
from conformance.targets.java_jars import NEWEST
from fakemq.client import Client
from fakemq.protocol.java import java_string_hash

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# It starts two JVMs and, where no other test did, Spark's.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

ROWS, KEYS, QUEUES = 2000, 7, 3
HALF, DELAYED = ROWS // 2, ROWS - 9
"""Where the second write begins, and the rows that arrive a second later."""
LARGE = "large" * 250_000
"""Over a mebibyte: it goes by itself, and compressed."""
DDL = (
    "value string, key string, tags string, shardingKey string,"
    " properties map<string,string>, delayLevel int"
)
Row = tuple[str, str, str, str, dict[str, str], int]


@pytest.fixture
def cluster(java: None) -> Iterator[JavaCluster]:
    config = {"enablePropertyFilter": "true"}
    with JavaCluster(config=config, version=NEWEST) as real, Client(real.namesrv_addr) as client:
        for topic in ("orders", "copies"):
            assert client.create_topic(topic, QUEUES) == [real.brokers[0].addr]
        yield real


def row(n: int) -> Row:
    value = LARGE if n == 0 else f"v{n}"
    tags = "red" if n % 4 == 0 else "blue"
    return value, f"k{n}", tags, f"s{n % KEYS}", {"n": str(n)}, int(n >= DELAYED)


def write(spark: SparkSession, cluster: JavaCluster, numbers: range) -> None:
    """Rows to orders, and wait until the delayed ones are there."""
    frame = spark.createDataFrame([row(n) for n in numbers], DDL).coalesce(1)
    writer = frame.write.format("rocketmq").mode("append").option("topic", "orders")
    writer.option("nameServer", cluster.namesrv_addr).option("batchSize", "50").save()
    with Client(cluster.namesrv_addr) as client:
        queues = client.subscribe_queues("orders")
        wait_until(lambda: sum(map(client.max_offset, queues)) == numbers.stop, 90)


def read(spark: SparkSession, cluster: JavaCluster, **options: object) -> DataFrame:
    reader = spark.read.format("rocketmq").option("nameServer", cluster.namesrv_addr)
    texts = {name: str(value) for name, value in ({"subscribe": "orders"} | options).items()}
    return reader.options(includeProperties="true", **texts).load()


def numbers_in(frame: DataFrame) -> list[int]:
    return sorted(int(one.key[1:]) for one in frame.select("key").collect())


def copy_news(spark: SparkSession, cluster: JavaCluster, checkpoint: Path) -> None:
    """What is new in orders goes to copies."""
    name_server = {"nameServer": cluster.namesrv_addr}
    source = spark.readStream.format("rocketmq").options(**name_server)
    source = source.option("subscribe", "orders").option("startingOffsets", "earliest")
    source = source.option("group", "GCopies").option("commitOffsets", "true")
    news = source.option("maxOffsetsPerTrigger", "600").load().select("key", "value")
    sink = news.writeStream.format("rocketmq").options(topic="copies", **name_server)
    sink = sink.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    sink.start().awaitTermination()


def test_5_5_0_broker_is_written_and_read(
    spark: SparkSession, cluster: JavaCluster, tmp_path: Path
) -> None:
    write(spark, cluster, range(HALF))
    copy_news(spark, cluster, tmp_path)
    assert numbers_in(read(spark, cluster, subscribe="copies")) == list(range(HALF))
    first_half = read(spark, cluster).select("timestamp").collect()
    boundary_ms = max(int(one.timestamp.timestamp() * 1000) for one in first_half) + 1

    write(spark, cluster, range(HALF, ROWS))
    copy_news(spark, cluster, tmp_path)
    assert numbers_in(read(spark, cluster, subscribe="copies")) == list(range(ROWS))
    later = read(spark, cluster, startingTimestamp=boundary_ms)
    assert numbers_in(later) == list(range(HALF, ROWS))
    assert numbers_in(read(spark, cluster, tags="red")) == list(range(0, ROWS, 4))
    assert numbers_in(read(spark, cluster, sql="n >= 1990")) == list(range(1990, ROWS))

    with Client(cluster.namesrv_addr, consumer_group="GCopies") as client:
        committed = [client.query_offset(queue) or 0 for queue in client.subscribe_queues("orders")]
    assert HALF <= sum(committed) <= ROWS

    any_topic = spark.read.format("rocketmq").option("subscribePattern", ".*")
    any_topic = any_topic.option("nameServer", cluster.namesrv_addr)
    topics = any_topic.load().select("topic").distinct().collect()
    assert {one.topic for one in topics} == {"orders", "copies"}

    found = read(spark, cluster).orderBy("queueId", "offset").collect()
    said = [(bytes(one.value).decode(), one.key, one.tags, one.properties["n"]) for one in found]
    rows = [row(n) for n in range(ROWS)]
    assert sorted(said) == sorted((value, key, tags, n["n"]) for value, key, tags, _, n, _ in rows)
    for key in range(KEYS):
        mine = [one for one in found if int(one.key[1:]) % KEYS == key]
        queue = abs(java_string_hash(f"s{key}")) % QUEUES
        assert {(one.broker, one.queueId) for one in mine} == {("broker-a", queue)}
        prompt = [int(one.key[1:]) for one in mine if int(one.key[1:]) < DELAYED]
        assert prompt == list(range(key, DELAYED, KEYS))
