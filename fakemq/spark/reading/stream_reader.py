"""Reading by stream: from batch to batch, as far as messages and limits allow."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from fakemq.client.blocking import Client
from fakemq.clock.machine_time import real_elapsed_ms, real_wait_ms
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.spark.reading.bound_offsets import Wait, report_data_loss, resolved, surveyed
from fakemq.spark.reading.offsets import Nested, Offsets, flat, nested, queue_text, queue_texts
from fakemq.spark.reading.options import ReadOptions
from fakemq.spark.reading.planning import limited, ranges_between, shared, split
from fakemq.spark.reading.queue_bounds import Bounds, find_bounds
from fakemq.spark.reading.queue_reading import read_ranges
from fakemq.spark.reading.topics import (
    NameServerError,
    brokers_there,
    check_expression,
    find_queues,
    is_wanted,
)


class RocketMQStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Continues from the checkpoint; its offsets are `fakemq.spark.reading.offsets`."""

    def __init__(self, options: ReadOptions, wait: Wait = real_wait_ms) -> None:
        self._options = options
        self._wait = wait
        self._client: Client | None = None
        self._until: dict[MessageQueue, Bounds] | None = None
        self._newest: Offsets = {}
        self._batch_at_ms: int | None = None
        self._is_checked = False

    def __getstate__(self) -> dict[str, object]:
        # Workers get the options; sockets and caches stay on the driver.
        return RocketMQStreamReader(self._options).__dict__

    # -- offsets ------------------------------------------------------------------------------

    def initialOffset(self) -> Nested:  # noqa: N802 - Spark's name
        """Return where a stream without a checkpoint starts."""
        client = self._connected()
        queues = find_queues(client, self._options.wanted)
        bounds = surveyed(client, queues, self._options, self._wait)
        # With AvailableNow Spark asks for the end first; latest must not be after it.
        bounds |= self._until or {}
        return nested(resolved(client, bounds, self._options.start, self._options))

    def latestOffset(self, start: Nested, limit: ReadLimit) -> Nested:  # noqa: N802 - Spark's name
        """Return the end of the batch that begins at ``start``; ``start`` itself for no batch."""
        begin = flat(start)
        bounds = self._bounds(begin)
        ends = reachable(begin, bounds, fail=self._options.fail_on_data_loss)
        ranges = ranges_between(begin, ends)
        if self._waits_for_more(sum(map(len, ranges)), limit):
            return start
        if isinstance(limit, ReadMaxRows):
            ends |= limited(ranges, limit.max_rows)
        if ends != begin:
            self._batch_at_ms = real_elapsed_ms()
        return nested(ends)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the limit of ``maxOffsetsPerTrigger``, or no limit."""
        options = self._options
        if options.max_offsets_per_trigger is not None:
            return ReadMaxRows(options.max_offsets_per_trigger)
        if options.min_offsets_per_trigger is not None:
            return ReadMinRows(options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix the end: messages after it are for another run."""
        self._until = self._bounds({})

    def reportLatestOffset(self) -> Nested | None:  # noqa: N802 - Spark's name
        """Return the ends of the queues as they were last read."""
        return nested(self._newest) if self._newest else None

    def _waits_for_more(self, count: int, limit: ReadLimit) -> bool:
        """Return True if there are too few messages yet.

        Python gets only one limit at a time, so this reads the options.

        Source: Spark, KafkaMicroBatchStream#delayBatch
        """
        least = self._options.min_offsets_per_trigger
        if least is None or isinstance(limit, ReadAllAvailable) or self._until is not None:
            return False
        if self._batch_at_ms is None or count >= least:
            return False
        return real_elapsed_ms() - self._batch_at_ms < self._options.max_trigger_delay_ms

    # -- what there is ------------------------------------------------------------------------

    def _connected(self) -> Client:
        if self._client is None:
            self._client = self._options.client()
        return self._client

    def _bounds(self, begin: Offsets) -> dict[MessageQueue, Bounds]:
        """Return the bounds of the queues whose brokers respond; a name server must respond."""
        for _ in range(self._options.pulling.retries):
            try:
                return self._bounds_now(begin)
            except NameServerError:
                self._wait(self._options.pulling.retry_interval_ms)
        return self._bounds_now(begin)

    def _bounds_now(self, begin: Offsets) -> dict[MessageQueue, Bounds]:
        bounds = self._until if self._until is not None else self._surveyed_now(begin)
        gone = {one for one in begin if one not in bounds and is_wanted(self._options.wanted, one)}
        if gone:
            self._check_gone(gone)
        return bounds

    def _surveyed_now(self, begin: Offsets) -> dict[MessageQueue, Bounds]:
        client = self._connected()
        queues = self._queues_now(begin)
        if not self._is_checked:
            check_expression(client, queues, self._options.pulling)
            self._is_checked = True
        bounds = find_bounds(client, queues).bounds
        self._newest |= {queue: one.max_offset for queue, one in bounds.items()}
        return bounds

    def _queues_now(self, begin: Iterable[MessageQueue]) -> list[MessageQueue]:
        excused = {one.topic or "" for one in begin}
        return find_queues(self._connected(), self._options.wanted, excused=excused)

    def _check_gone(self, gone: set[MessageQueue]) -> None:
        """Report queues that are gone although their broker is there; an absent one may return."""
        brokers = brokers_there(self._connected())
        # Ask again now: the broker may have come back a moment ago.
        there = set(self._queues_now(gone)) if brokers else set()
        lost = [one for one in gone - there if (one.broker_name or "") in brokers]
        if lost:
            report_data_loss(
                f"{queue_texts(lost)}: the stream has read it, but its broker no longer has it",
                "its offset stays",
                fail=self._options.fail_on_data_loss,
            )

    # -- batches ------------------------------------------------------------------------------

    def partitions(self, start: Nested, end: Nested) -> Sequence[InputPartition]:
        """Return equal parts for equal offsets and options, because a batch may be repeated."""
        options = self._options
        ranges = ranges_between(flat(start), flat(end))
        limits = options.min_partitions, options.max_records_per_partition
        return [InputPartition(part) for part in shared(split(ranges, *limits), *limits)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_ranges(partition.value, self._options)

    def commit(self, end: Nested) -> None:
        """With ``commitOffsets``, commit the stream's offsets to the group.

        Spark calls this for the last batch of a run in the next run's first batch.
        """
        if not self._options.commit_offsets:
            return
        client = self._connected()
        for queue, offset in flat(end).items():
            try:
                client.update_offset(queue, offset, oneway=False)
            except FakemqError as error:
                # The stream continues from its checkpoint; the commit only informs others.
                warnings.warn(f"rocketmq: offsets not committed: {error}", stacklevel=2)

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


# How far a stream can read: from what it has read and what exists.


def reachable(start: Offsets, bounds: Mapping[MessageQueue, Bounds], *, fail: bool) -> Offsets:
    """Return the offset up to which each queue could be read now.

    There are four cases:
    1. A new queue joins with its earliest offset. Its messages are read from the next batch on, so
       that its first range, too, is in the checkpoint.
    2. A queue whose broker is away keeps its offset.
    3. If messages after ``start`` no longer exist, raise DataLossError if ``fail``.
    4. If ``fail`` is false, a queue that was created again starts at its earliest offset.
    """
    ends = dict(start)
    for queue, here in bounds.items():
        begin = start.get(queue)
        if begin is None:
            ends[queue] = here.min_offset
        elif here.max_offset >= begin:
            if here.min_offset > begin and fail and not here.is_slave:
                _lost(queue, begin, here, here.min_offset, fail=True)
            ends[queue] = here.max_offset
        elif not here.is_slave:
            _lost(queue, begin, here, here.min_offset, fail=fail)
            ends[queue] = here.min_offset
    return ends


def _lost(queue: MessageQueue, begin: int, here: Bounds, next_offset: int, *, fail: bool) -> None:
    report_data_loss(
        f"{queue_text(queue)}: the stream has reached offset {begin}, but the offsets are"
        f" {here.min_offset} to {here.max_offset - 1}",
        f"reading continues at {next_offset}",
        fail=fail,
    )


# A stream that is not possible: its error is raised where the user can read it.
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
