"""What Spark writes to a real broker, and what a real consumer of it gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.drivers.java_program import JavaConsumer
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.processes import wait_received
from fakemq.client import Client
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.java import java_string_hash
from fakemq.protocol.message import MessageExt
from fakemq.spark.writing.options import ROW_ID_PROPERTY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# It starts two JVMs, a consumer's, and Spark's where no other test did.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

ROWS, KEYS, QUEUES = 300, 7, 3
DELAYED_LEVEL = 1  # a second


def read(namesrv_addr: str, topic: str) -> list[MessageExt]:
    with Client(namesrv_addr) as client:
        return [
            message
            for queue in client.subscribe_queues(topic)
            for message in read_queue(client, queue)
        ]


def read_queue(client: Client, queue: MessageQueue) -> list[MessageExt]:
    found: list[MessageExt] = []
    while len(found) < client.max_offset(queue):
        found += client.pull(queue, len(found)).messages
    return found


def test_real_consumer_gets_what_was_written(spark: SparkSession, java: None) -> None:
    rows = [
        (f"v{n}", f"k{n}", "red", f"s{n % KEYS}", {"n": str(n)}, DELAYED_LEVEL * (n >= ROWS - 9))
        for n in range(ROWS)
    ]
    ddl = "value string, key string, tags string, shardingKey string,"
    frame = spark.createDataFrame(rows, f"{ddl} properties map<string,string>, delayLevel int")
    with JavaCluster(topics={"orders": QUEUES}) as real:
        writer = frame.coalesce(1).write.format("rocketmq").mode("append")
        writer = writer.option("nameServer", real.namesrv_addr).option("batchSize", "20")
        with JavaConsumer(real.namesrv_addr, "orders", expression="red") as consumer:
            writer.option("topic", "orders").save()
            wait_received(consumer, {f"k{n}" for n in range(ROWS)})
            assert len(consumer.received) == ROWS
        found = read(real.namesrv_addr, "orders")
        with pytest.raises(Exception, match="The specified topic contains illegal characters"):
            writer.option("topic", "no such topic!").save()
    by_key: dict[int, list[MessageExt]] = {}
    for one in found:
        by_key.setdefault(int(one.properties["n"]) % KEYS, []).append(one)
    for key, mine in by_key.items():
        assert {one.queue_id for one in mine} == {abs(java_string_hash(f"s{key}")) % QUEUES}
        prompt = [int(one.body[1:]) for one in mine if int(one.body[1:]) < ROWS - 9]
        assert prompt == list(range(key, ROWS - 9, KEYS))
    assert {(one.body, one.keys, one.tags) for one in found} == {
        (f"v{n}".encode(), f"k{n}", "red") for n in range(ROWS)
    }
    assert len({one.properties[ROW_ID_PROPERTY] for one in found}) == ROWS
    assert len({one.msg_id for one in found}) == ROWS
