"""``df.write`` and ``df.writeStream`` with ``format("rocketmq")``: the rows of jobs to topics."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from fakemq.errors import ConfigError, FakemqError
from fakemq.spark.options import Options
from fakemq.spark.writing.options import write_options_of
from fakemq.spark.writing.parcels import Written, write_rows
from fakemq.spark.writing.row_ids import RowIds
from fakemq.spark.writing.rows import check_columns

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.types import StructType

_log = logging.getLogger("fakemq.spark")


class BatchWriter(DataSourceArrowWriter):
    """Made once on the driver, where it checks everything that does not need the rows.

    Raise ConfigError for invalid options and columns, and for ``overwrite``.
    """

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        self._options = write_options_of(options)
        if overwrite:
            raise ConfigError(
                f"{options.source}: mode overwrite is not possible: messages stay in a topic;"
                " use mode append"
            )
        check_columns(options.source, schema, topic_given=self._options.topic is not None)
        self._write_id = self._options.write_id or str(uuid.uuid4())

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Send one partition's rows; Spark calls this in a worker."""
        context = TaskContext.get()
        partition = context.partitionId() if context is not None else 0
        return write_rows(iterator, self._options, RowIds(self._write_id, str(partition)))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Log on the driver what was written."""
        total = Written.total(messages)
        log = _log.warning if total.doubted else _log.info
        log("rocketmq: write %s: %s", self._write_id, total)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Log on the driver what stays written although the job failed."""
        _log.warning(
            "rocketmq: write %s failed; what its tasks sent stays sent, of tasks that ended"
            " well: %s",
            self._write_id,
            Written.total(messages),
        )


# ``df.writeStream.format("rocketmq")``: sends the rows of every micro-batch to topics.

# The local properties that name a task's query and batch. Source:
# StreamExecution.scala#QUERY_ID_KEY, MicroBatchExecution.scala#BATCH_ID_KEY
QUERY_ID = "sql.streaming.queryId"
BATCH_ID = "streaming.sql.batchId"


class StreamWriter(DataSourceStreamArrowWriter):
    """Made on the driver when a query starts, and again for every commit.

    Raise ConfigError for invalid options and columns. In mode complete, every micro-batch sends its
    whole result again: messages cannot be removed from a topic.
    """

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = write_options_of(options)
        check_columns(options.source, schema, topic_given=self._options.topic is not None)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Send one partition's rows of one micro-batch; Spark calls this in a worker."""
        context = TaskContext.get()
        query_id = context.getLocalProperty(QUERY_ID) if context is not None else None
        batch_id = context.getLocalProperty(BATCH_ID) if context is not None else None
        if context is None or query_id is None or batch_id is None:
            raise FakemqError("rocketmq: Spark did not give this task its query and micro-batch")
        scope = self._options.write_id or query_id
        ids = RowIds(scope, f"{batch_id}-{context.partitionId()}")
        return write_rows(iterator, self._options, ids)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Log on the driver what was written."""
        total = Written.total(messages)
        log = _log.warning if total.doubted else _log.info
        log("rocketmq: micro-batch %d: %s", batchId, total)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Log on the driver what stays written although the micro-batch failed."""
        _log.warning(
            "rocketmq: micro-batch %d failed; what its tasks sent stays sent, of tasks that ended"
            " well: %s",
            batchId,
            Written.total(messages),
        )
