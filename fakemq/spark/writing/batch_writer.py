"""``df.write.format("rocketmq")``: one job's rows to topics."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from fakemq.errors import ConfigError
from fakemq.spark.options import Options
from fakemq.spark.writing.columns import check_columns
from fakemq.spark.writing.commit_message import Written
from fakemq.spark.writing.options import write_options_of
from fakemq.spark.writing.parcels import write_rows
from fakemq.spark.writing.row_ids import RowIds

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
