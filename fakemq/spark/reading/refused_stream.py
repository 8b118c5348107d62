"""A stream that is not possible: its error is raised where the user can read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from fakemq.errors import FakemqError
from fakemq.spark.reading.offsets import Nested


class RefusedStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Raises ``reason`` at the first call of Spark.

    If `DataSource.streamReader` itself raised, an UnboundLocalError of PySpark would follow
    (4.3.0, python_streaming_source_runner.py: ``finally: reader.stop()``), and hide the user's
    exception.
    """

    def __init__(self, reason: FakemqError) -> None:
        self._reason = reason

    def initialOffset(self) -> Nested:  # noqa: N802 - Spark's name
        raise self._reason

    def latestOffset(self, start: Nested, limit: ReadLimit) -> Nested:  # noqa: N802
        raise self._reason

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        raise self._reason

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        raise self._reason

    def partitions(self, start: Nested, end: Nested) -> Sequence[InputPartition]:
        raise self._reason

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        raise self._reason
