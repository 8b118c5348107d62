"""``df.write.format("rocketmq")`` in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fakemq.cluster import Cluster
from fakemq.spark.writing.options import ROW_ID_PROPERTY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def to(cluster: Cluster, frame: DataFrame, topic: str = "orders") -> DataFrameWriter:
    writer = frame.write.format("rocketmq").mode("append")
    return writer.option("nameServer", cluster.namesrv_addr).option("topic", topic)


@pytest.mark.slow  # starts the session, if it is the first of the run; a write takes 0.5 s
def test_rows_become_messages_with_all_their_columns(spark: SparkSession) -> None:
    rows = [(f"v{n}", f"k{n}", "red", f"s{n % 3}", {"n": str(n)}, 18 * (n % 2)) for n in range(30)]
    ddl = "value string, key string, tags string, shardingKey string,"
    ddl += " properties map<string,string>, delayLevel int"
    with Cluster() as cluster:
        to(cluster, spark.createDataFrame(rows, ddl).coalesce(1)).save()
        arrived = cluster.messages("orders")
        assert sorted(one.body for one in arrived) == sorted(b"v%d" % n for n in range(0, 30, 2))
        for key in range(3):  # in the order of the rows, and in one queue
            same = [one for one in arrived if int(one.body[1:]) % 3 == key]
            assert [one.body for one in same] == [
                b"v%d" % n for n in range(30) if n % 6 == 4 * key % 6
            ]
            assert len({one.queue_id for one in same}) == 1
        one = next(one for one in arrived if one.body == b"v4")
        assert (one.keys, one.tags, one.properties["n"]) == ("k4", "red", "4")
        waiting = cluster.delayed("orders")
        assert sorted(one.message.body for one in waiting) == sorted(
            b"v%d" % n for n in range(1, 30, 2)
        )
        assert {one.level for one in waiting} == {18}
        ids = [one.properties[ROW_ID_PROPERTY] for one in arrived]
        ids += [one.message.properties[ROW_ID_PROPERTY] for one in waiting]
        assert len(set(ids)) == 30


@pytest.mark.slow  # a refused write takes as long as one that is not
def test_invalid_write_is_refused_before_anything_is_sent(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("v", 1)], "value string, partition int")
    with Cluster() as cluster:
        with pytest.raises(Exception, match="column partition cannot be written"):
            to(cluster, frame).save()
        with pytest.raises(Exception, match="mode overwrite is not possible"):
            to(cluster, frame.drop("partition")).mode("overwrite").save()
        with pytest.raises(Exception, match="no option topci; did you mean topic"):
            to(cluster, frame.drop("partition")).option("topci", "x").save()
        assert "orders" not in cluster.topics()
