"""A real broker's store, read by Spark while the broker runs on it, has what a dump of it has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.live.store_walk import java_config, send_all
from conformance.targets.java_cluster import JavaCluster
from fakemq.dump.rows import Selection, log_rows, queue_rows
from fakemq.store.stored_node import find_nodes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A JVM for the broker and one for Spark.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

TOPICS, QUEUES, MESSAGES = ("First", "Second"), 4, 600


def no_progress(size_bytes: int) -> None:
    """Ignore the progress of a walk."""


def test_real_store_is_read(java: None, spark: SparkSession, tmp_path: Path) -> None:
    store = tmp_path / "broker-a"
    topics = dict.fromkeys(TOPICS, QUEUES)
    sizes = range(MESSAGES)
    with JavaCluster(config=java_config(store), topics=topics) as real:
        # The longer ones are compressed by the client.
        bodies = [b"%04d" % size + bytes(range(200)) * (40 * (size % 10 == 0)) for size in sizes]
        sent = send_all(real.namesrv_addr, TOPICS, bodies)
        reader = spark.read.format("rocketmq-store").option("topic", ",".join(TOPICS))
        live = reader.load(str(store)).select("msgId", "value", "damage").collect()
        assert {row.msgId for row in live} == sent
        assert sorted(bytes(row.value) for row in live) == sorted(bodies)
        assert {row.damage for row in live} == {None}
        real.broker("broker-a").stop()

    (node,) = find_nodes(str(store))
    rows = spark.read.format("rocketmq-store").load(str(store)).collect()
    names = ("commitLogOffset", "recordBytes", "topic", "queueId", "offset", "msgId", "sysFlag")
    fields = ("phyOffset", "size", "topic", "queueId", "queueOffset", "msgId", "sysFlag")
    assert sorted(tuple(row[name] for name in names) for row in rows) == [
        tuple(row[field] for field in fields) for row in log_rows(node, Selection(), no_progress)
    ]
    entries = spark.read.format("rocketmq-store").option("view", "consumequeue").load(str(store))
    found = entries.groupBy("recordFound", "damage").count().collect()
    count = len(list(queue_rows(node, Selection(), no_progress)))
    assert [tuple(row) for row in found] == [(True, None, count)]
