"""``df.writeStream.format("rocketmq")`` in a session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakemq.cluster import Cluster
from fakemq.spark.writing.options import ROW_ID_PROPERTY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.slow  # three micro-batches, 0.5 s each
def test_repeated_micro_batch_sends_its_rows_with_the_same_ids(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    source.mkdir()

    def run() -> None:
        rows = spark.readStream.text(str(source))
        stream = rows.writeStream.format("rocketmq").option("nameServer", cluster.namesrv_addr)
        stream = stream.option("checkpointLocation", str(checkpoint)).option("topic", "orders")
        stream.trigger(availableNow=True).start().awaitTermination()

    def named() -> list[tuple[bytes, str]]:
        arrived = cluster.messages("orders")
        return sorted((one.body, one.properties[ROW_ID_PROPERTY]) for one in arrived)

    with Cluster() as cluster:
        (source / "1").write_text("a\nb\nb\n")
        run()
        names = named()
        assert len(set(names)) == 3
        # As if the driver had died before it wrote down that the micro-batch was done.
        for one in (checkpoint / "commits").iterdir():
            one.unlink()
        run()
        assert named() == sorted(2 * names)
        (source / "2").write_text("a\n")
        run()
        assert len(set(named())) == 4
