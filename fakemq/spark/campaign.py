"""The fault campaign on Spark: one row for each seed, simulated in virtual time by Spark's tasks.

It is a data source because functions over Arrow batches would need pandas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from fakemq.errors import ConfigError
from fakemq.sim.campaign import Campaign, Outcome, run_worker
from fakemq.sim.drawing import draw_plan
from fakemq.spark.options import Options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAME = "fakemq-campaign"
OPTIONS = ("seeds", "minutes", "journals", "tasks")
SEEDS_PER_TASK = 8
"""A task starts a process, which takes about as long as one seed of ten virtual minutes."""
SEEDS_MAX = 1_000_000
"""A million seeds of ten virtual minutes take one core a week."""

_CLUSTER = (
    *(("masters", pa.int32()), ("slaves", pa.int32()), ("namesrvs", pa.int32())),
    *(("role", pa.string()), ("flush", pa.string()), ("onDisk", pa.bool_())),
    ("logFileBytes", pa.int64()),
)
_FAULT = (
    *(("name", pa.string()), ("target", pa.string()), ("atMs", pa.int64())),
    *(("forMs", pa.int64()), ("amount", pa.int64())),
)
_SCHEMA = pa.schema(
    [
        *(("seed", pa.int64()), ("minutes", pa.float64()), ("cluster", pa.struct(_CLUSTER))),
        *(("faults", pa.list_(pa.struct(_FAULT))), ("messages", pa.int64())),
        *(("failure", pa.string()), ("violations", pa.list_(pa.string()))),
        *(("seconds", pa.float64()), ("journal", pa.list_(pa.string()))),
    ]
)
_DDL = (
    "seed long, minutes double,"
    " cluster struct<masters int, slaves int, namesrvs int, role string, flush string,"
    " onDisk boolean, logFileBytes long>,"
    " faults array<struct<name string, target string, atMs long, forMs long, amount long>>,"
    " messages long, failure string, violations array<string>, seconds double,"
    " journal array<string>"
)


def campaign(
    spark: SparkSession,
    seeds: Iterable[int],
    minutes: float = 10,
    *,
    journals: bool = False,
    tasks: int | None = None,
) -> DataFrame:
    """Return one row for each seed: the cluster, traffic and faults it draws, and the result.

    A row has ``seed`` and virtual ``minutes``; the drawn ``cluster`` and ``faults``, with
    milliseconds from the start; ``messages``, the number of stored messages; ``failure``, "" if
    every invariant held, and the ``violations`` that it summarises; ``seconds`` of real time; and
    with ``journals`` the lines of ``journal`` (about 17,000 of 100 bytes for ten minutes), else
    null. A seed whose process dies or hangs fails, and no other seed does.
    ``python -m fakemq replay --seed N`` replays a row.

    Spark runs the seeds when the rows are requested, and again for each request: write or cache
    them. ``tasks`` is the number of parts into which the seeds are divided; by default a task gets
    eight seeds. Spark's exception names a seed, ``minutes`` or ``tasks`` that is not possible.
    """
    spark.dataSource.register(CampaignDataSource)
    reader = spark.read.format(NAME).option("seeds", _text(seeds)).option("minutes", minutes)
    if tasks is not None:
        reader = reader.option("tasks", tasks)
    return reader.option("journals", journals).load()


class CampaignDataSource(DataSource):
    """``format("fakemq-campaign")``, with the arguments of `campaign` as options.

    ``seeds`` has the form ``0:500``, 500 excluded, or ``3,8,40:50``.
    """

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return _DDL

    def reader(self, schema: object) -> CampaignReader:
        return CampaignReader(Options(NAME, self.options))


class Seeds(InputPartition):
    """The seeds of one task."""

    def __init__(self, seeds: Sequence[int]) -> None:
        super().__init__(None)
        self.seeds = seeds


class CampaignReader(DataSourceReader):
    """Divides the seeds among tasks and runs them."""

    def __init__(self, options: Options) -> None:
        options.require_known(OPTIONS)
        self._seeds = _seeds(options)
        self._minutes = _minutes(options)
        self._journals = options.flag("journals", False)
        few = -(-len(self._seeds) // SEEDS_PER_TASK)
        self._tasks = min(options.number("tasks", few, least=1), len(self._seeds))

    def partitions(self) -> Sequence[Seeds]:
        # In turns, because neighbouring seeds may take equally long.
        return [Seeds(self._seeds[task :: self._tasks]) for task in range(self._tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, Seeds):  # without seeds Spark still reads one empty partition
            yield from _outcomes(partition.seeds, self._minutes, self._journals)


def _text(seeds: Iterable[int]) -> str:
    if isinstance(seeds, range) and seeds.step == 1 and seeds:
        return f"{seeds.start}:{seeds.stop}"
    return ",".join(map(str, seeds))


def _seeds(options: Options) -> Sequence[int]:
    wanted = "whole numbers from 0 on and FROM:TO, such as 3,8,40:50"
    given, found = options.text("seeds"), list[int]()
    if given is None:
        raise options.bad("seeds", wanted)
    for part in given.split(",") if given else ():
        bounds = [text.strip() for text in part.split(":")]
        if len(bounds) > 2 or not all(re.fullmatch("[0-9]{1,18}", text) for text in bounds):
            raise options.bad("seeds", wanted)
        first, *end = map(int, bounds)
        these = range(first, end[0] if end else first + 1)
        if len(found) + len(these) > SEEDS_MAX:
            raise ConfigError(f"{NAME}: option seeds: {len(these):,} are too many for one campaign")
        found += these
    return found


def _minutes(options: Options) -> float:
    text = options.text("minutes") or "10"
    try:
        minutes = float(text)
    except ValueError:
        minutes = inf
    if not isfinite(minutes):
        raise options.bad("minutes", "a number")
    try:
        draw_plan(0, minutes)
    except ValueError as error:
        raise ConfigError(f"{NAME}: option minutes: {error}") from None
    return minutes


def _outcomes(seeds: Sequence[int], minutes: float, journals: bool) -> Iterator[pa.RecordBatch]:
    # Few at a time, because their journals are in memory until they become rows.
    for start in range(0, len(seeds), SEEDS_PER_TASK):
        outcomes: list[Outcome] = []
        # In another process: a seed that dies or hangs becomes a row and does not end the job.
        runner = Campaign(minutes, 1, outcomes.append, partial(run_worker, journal=journals))
        runner.run(seeds[start : start + SEEDS_PER_TASK])
        for outcome in outcomes:
            yield pa.RecordBatch.from_pylist([_row(outcome, minutes, journals)], schema=_SCHEMA)


def _row(outcome: Outcome, minutes: float, journals: bool) -> dict[str, Any]:
    plan = draw_plan(outcome.seed, minutes)
    return {
        "seed": outcome.seed,
        "minutes": minutes,
        "cluster": _fields(plan.cluster),
        "faults": [_fields(fault) for fault in plan.faults],
        "messages": outcome.messages,
        "failure": outcome.failure,
        "violations": outcome.violations,
        "seconds": outcome.took_ms / 1000,
        "journal": outcome.journal if journals else None,
    }


def _fields(part: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a part of a plan under their column names."""
    return {_camel(name): value for name, value in msgspec.structs.asdict(part).items()}


def _camel(name: str) -> str:
    """Return ``atMs`` for ``at_ms``."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
