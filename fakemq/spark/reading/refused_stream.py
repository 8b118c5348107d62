"""A stream that cannot be: its reason is raised where the user gets to read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from fakemq.errors import FakemqError
from fakemq.spark.reading.offsets import Nested


class RefusedStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Raises ``reason`` as soon as Spark asks for anything.

    What `DataSource.streamReader` itself raises is followed by an UnboundLocalError of PySpark's
    (4.3.0, python_streaming_source_runner.py: ``finally: reader.stop()``), with which the
    user's exception would end.
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
