"""A batch that is planned while a broker is away, as docs/spark_read.md has it."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from fakemq import Cluster
from fakemq.spark.reading.topics import UnknownTopicError
from fakemq.spark.records.schema import message_schema
from fakemq.spark.source import RocketMQDataSource


def test_assigned_queues_of_an_absent_broker_are_missed_and_those_of_a_topic_are_not() -> None:
    def brokers(**given: str) -> set[str]:
        source = RocketMQDataSource({"nameServer": cluster.namesrv_addr, **given})
        plan = source.reader(message_schema(include_properties=False)).partitions()
        return {one.queue.broker_name for part in plan for one in part.value}

    with Cluster(masters=2, topics={"orders": 1}) as cluster:
        cluster.seed("orders", ["tea", "milk"])
        assert brokers(subscribe="orders") == {"broker-a", "broker-b"}
        cluster.broker("broker-b").kill()
        assert brokers(subscribe="orders") == {"broker-a"}
        with pytest.raises(UnknownTopicError, match="broker broker-b, queue 0"):
            brokers(assign='{"orders": {"broker-a": [0], "broker-b": [0]}}')
