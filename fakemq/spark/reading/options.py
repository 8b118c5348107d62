"""The options of reading: which queues, from where to where, how fast, and by which rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from fakemq.client.blocking import Client
from fakemq.clock.durations import duration_ms
from fakemq.errors import ConfigError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.subscription import (
    SUB_ALL,
    ExpressionType,
    SubscriptionError,
    build_subscription,
)
from fakemq.spark.connection import CONNECTION_OPTIONS, ClusterSettings, connection_of
from fakemq.spark.options import Options
from fakemq.spark.reading.offsets import (
    ASSIGN_SHAPE,
    EARLIEST,
    LATEST,
    SHAPE,
    Offsets,
    parse_offsets,
    parse_queues,
)
from fakemq.spark.records.schema import message_schema

T = TypeVar("T")

WHAT_OPTIONS = ("subscribe", "topic", "subscribePattern", "assign")
BOUND_OPTIONS = (
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
)
STREAM_OPTIONS = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "commitOffsets",
)
RETRIES, RETRY_INTERVAL_MS = "fetchOffset.numRetries", "fetchOffset.retryIntervalMs"
READ_OPTIONS = (
    *CONNECTION_OPTIONS,
    *WHAT_OPTIONS,
    *BOUND_OPTIONS,
    *STREAM_OPTIONS,
    *("tags", "sql", "includeProperties", "failOnDataLoss"),
    *("minPartitions", "maxRecordsPerPartition"),
    *("group", "groupIdPrefix", "pullTimeoutMs", "pullBatchSize", RETRIES, RETRY_INTERVAL_MS),
)
"""All options of a reader, except ``rocketmq.*``."""

GROUP_ID_PREFIX = "spark-rocketmq"


class WantedQueues(msgspec.Struct, frozen=True):
    """What to read: exactly one field is not None."""

    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    queues: tuple[MessageQueue, ...] | None = None


class Bound(msgspec.Struct, frozen=True):
    """Where reading starts or ends: an offset or, with ``by_time``, a time in milliseconds.

    ``everywhere`` holds for all queues; if it is None, ``each`` has one value for each queue.
    """

    option: str
    everywhere: int | None = None
    each: Offsets = {}
    by_time: bool = False

    def of(self, queue: MessageQueue) -> int | None:
        """Return the value for a queue; None if the option does not name the queue."""
        return self.each.get(queue) if self.everywhere is None else self.everywhere


class WorkerPulls(msgspec.Struct, frozen=True):
    """How workers pull; ``expression`` is the filter that the broker applies."""

    group: str
    expression: str
    expression_type: str
    timeout_ms: int
    batch_size: int
    retries: int
    retry_interval_ms: int

    @property
    def is_filtered(self) -> bool:
        return self.expression != SUB_ALL


class ReadOptions(msgspec.Struct, frozen=True):
    """All options, parsed and checked."""

    connection: ClusterSettings
    wanted: WantedQueues
    start: Bound
    end: Bound
    latest_if_no_time: bool
    pulling: WorkerPulls
    include_properties: bool
    fail_on_data_loss: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    commit_offsets: bool

    def client(self) -> Client:
        """Return a client of the cluster, for the group that the options name."""
        return self.connection.client(consumer_group=self.pulling.group)


def read_options(
    options: Options, *, streaming: bool, columns: Sequence[str] | None = None
) -> ReadOptions:
    """Return the options of a reader. Raise ConfigError for an unknown, missing or invalid one.

    ``columns`` are those of a schema that the user gave, which is not allowed.
    """
    if options.text("path"):
        raise ConfigError(
            f"{options.source}: a path is not used: name the topics by the option subscribe,"
            " and leave load() empty"
        )
    options.require_known(READ_OPTIONS)
    names = message_schema(include_properties=options.flag("includeProperties", False)).names
    if columns is not None and list(columns) != names:
        raise ConfigError(
            f"{options.source}: the columns are {', '.join(names)}: leave schema() out"
        )
    _refuse(options, *_not_for(streaming))
    strategy = options.text("startingOffsetsByTimestampStrategy") or "error"
    if strategy not in ("error", "latest"):
        raise options.bad("startingOffsetsByTimestampStrategy", "error or latest")
    least, most = (
        options.number(f"{name}OffsetsPerTrigger", None, least=1) for name in ("min", "max")
    )
    if least is not None and most is not None and least > most:
        raise options.bad("minOffsetsPerTrigger", f"at most maxOffsetsPerTrigger, {most},")
    commit_offsets = options.flag("commitOffsets", False)
    if commit_offsets and not options.text("group"):
        raise ConfigError(f"{options.source}: option commitOffsets needs option group")
    return ReadOptions(
        connection=connection_of(options),
        wanted=_wanted(options),
        start=_start(options, streaming=streaming),
        end=_end(options),
        latest_if_no_time=strategy == "latest",
        pulling=_pulling(options),
        include_properties=options.flag("includeProperties", False),
        fail_on_data_loss=options.flag("failOnDataLoss", True),
        min_partitions=options.number("minPartitions", None, least=1),
        max_records_per_partition=options.number("maxRecordsPerPartition", None, least=1),
        max_offsets_per_trigger=most,
        min_offsets_per_trigger=least,
        max_trigger_delay_ms=_delay_ms(options),
        commit_offsets=commit_offsets,
    )


def _not_for(streaming: bool) -> tuple[str, tuple[str, ...]]:
    if streaming:
        return "a stream", ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
    return "a batch", STREAM_OPTIONS


def _refuse(options: Options, whom: str, names: tuple[str, ...]) -> None:
    for name in names:
        if options.text(name) is not None:
            raise ConfigError(f"{options.source}: option {name} is not possible for {whom}")


def _wanted(options: Options) -> WantedQueues:
    given = [name for name in WHAT_OPTIONS if options.text(name)]
    if len(given) != 1:
        raise ConfigError(
            f"{options.source}: exactly one of subscribe, subscribePattern and assign is required,"
            f" but {' and '.join(given) or 'none'} was given"
        )
    name = given[0]
    text = options.text(name) or ""
    if name == "assign":
        return WantedQueues(queues=tuple(_parsed(options, name, parse_queues, ASSIGN_SHAPE)))
    if name == "subscribePattern":
        try:
            re.compile(text)
        except re.error as error:
            raise options.bad(name, f"a regular expression ({error})") from None
        return WantedQueues(pattern=text)
    topics = tuple(dict.fromkeys(word for one in text.split(",") if (word := one.strip())))
    if not topics:
        raise options.bad(name, "a topic, or several separated by commas,")
    return WantedQueues(topics=topics)


def _start(options: Options, *, streaming: bool) -> Bound:
    times = _times(options, "startingTimestamp", "startingOffsetsByTimestamp")
    if times is not None:
        return times
    start = _offsets(options, "startingOffsets", LATEST if streaming else EARLIEST)
    if not streaming and LATEST in (start.everywhere, *start.each.values()):
        raise options.bad("startingOffsets", "not latest, after which a batch finds nothing,")
    return start


def _end(options: Options) -> Bound:
    times = _times(options, "endingTimestamp", "endingOffsetsByTimestamp")
    if times is not None:
        return times
    end = _offsets(options, "endingOffsets", LATEST)
    if EARLIEST in (end.everywhere, *end.each.values()):
        raise options.bad("endingOffsets", "not earliest, before which there is nothing,")
    return end


def _times(options: Options, everywhere: str, each: str) -> Bound | None:
    time_ms = options.number(everywhere, None)
    if time_ms is not None:
        return Bound(everywhere, time_ms, by_time=True)
    if options.text(each) is None:
        return None
    times = _parsed(options, each, parse_offsets, SHAPE)
    if any(time < 0 for time in times.values()):
        raise options.bad(each, "milliseconds from 0 on for each queue")
    return Bound(each, each=times, by_time=True)


def _offsets(options: Options, name: str, default: int) -> Bound:
    text = options.text(name)
    word = {None: default, "earliest": EARLIEST, "latest": LATEST}.get(text and text.lower())
    if word is not None:
        return Bound(name, word)
    offsets = _parsed(options, name, parse_offsets, f"earliest, latest or {SHAPE}")
    if any(offset < EARLIEST for offset in offsets.values()):
        raise options.bad(name, "an offset, -1 for latest or -2 for earliest for each queue")
    return Bound(name, each=offsets)


def _pulling(options: Options) -> WorkerPulls:
    tags, sql = options.text("tags"), options.text("sql")
    if tags and sql:
        raise ConfigError(f"{options.source}: options tags and sql exclude each other")
    try:
        build_subscription("", tags, ExpressionType.TAG)
    except SubscriptionError:
        raise options.bad("tags", "tags separated by ||") from None
    prefix = options.text("groupIdPrefix") or GROUP_ID_PREFIX
    return WorkerPulls(
        group=options.text("group") or f"{prefix}-source",
        expression=sql or tags or SUB_ALL,
        expression_type=ExpressionType.SQL92 if sql else ExpressionType.TAG,
        timeout_ms=options.number("pullTimeoutMs", 10_000, least=1),
        batch_size=options.number("pullBatchSize", 32, least=1, most=INT_MAX),
        retries=options.number(RETRIES, 10),
        retry_interval_ms=options.number(RETRY_INTERVAL_MS, 1_000),
    )


def _delay_ms(options: Options) -> int:
    text = options.text("maxTriggerDelay") or "15m"
    try:
        delay_ms = duration_ms(text)
    except ConfigError:
        delay_ms = -1
    if delay_ms < 0:
        raise options.bad("maxTriggerDelay", 'a duration such as "15m"')
    return delay_ms


def _parsed(options: Options, name: str, parse: Callable[[str], T], shape: str) -> T:
    try:
        return parse(options.text(name) or "")
    except ConfigError as error:
        raise options.bad(name, f"{shape} ({error})") from None
