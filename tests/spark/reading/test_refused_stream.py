"""The exception of a stream that cannot be ends with what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from fakemq.errors import ConfigError
from fakemq.spark.reading.stream_reader import RefusedStreamReader
from fakemq.spark.source import RocketMQDataSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    "ask",
    [
        lambda reader: reader.initialOffset(),
        lambda reader: reader.latestOffset({}, ReadAllAvailable()),
        lambda reader: reader.getDefaultReadLimit(),
        lambda reader: reader.prepareForTriggerAvailableNow(),
        lambda reader: reader.partitions({}, {}),
        lambda reader: reader.read(None),
    ],
)
def test_every_method_of_a_refused_stream_raises_the_reason(ask: Callable[[Any], object]) -> None:
    given = {"nameServer": "127.0.0.1:9876", "subscribe": "orders", "maxOffsetPerTrigger": "3"}
    reader = RocketMQDataSource(given).streamReader(StructType())
    assert isinstance(reader, RefusedStreamReader)
    with pytest.raises(ConfigError, match="did you mean maxOffsetsPerTrigger"):
        ask(reader)


@pytest.mark.slow  # starts the session, if it is the first of the run
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("trigger", [{"availableNow": True}, {"processingTime": "1 second"}])
def test_stream_exception_ends_with_the_reason(
    spark: SparkSession, tmp_path: Path, trigger: dict[str, Any]
) -> None:
    reader = spark.readStream.format("rocketmq").option("nameServer", "127.0.0.1:9876")
    frame = reader.option("subscribe", "orders").option("endingOffsets", "latest").load()
    sink = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    with pytest.raises(StreamingQueryException) as raised:
        sink.trigger(**trigger).start().processAllAvailable()
    assert "endingOffsets" in str(raised.value)
    assert "UnboundLocalError" not in str(raised.value)
