"""The cost of reading more files and more queues, and the memory that the driver keeps.

If the cost grows faster than the input, then one of many files, or queues, costs more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from bench.fill import fill_with_batches
from bench.measure import Figure, Plan
from bench.process import served
from bench.rivals import MEMORY_LIMIT
from bench.spark_reading import BODY, TOPIC, fake_cluster, link_log_files
from bench.spark_session import Memory, driver_memory, read_all, store, topic
from conformance.wire.raw import create_topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = (1, 4, 16, 64)
FILE_BYTES = 4 << 20
SMALLEST_RECORD_BYTES = 380
QUEUES = (1, 10, 100, 1_000)
MESSAGES_PER_QUEUE = 100
LINEAR = 1.3
"""The allowed ratio between the cost of one of the most and one of a quarter, or a tenth."""
KEPT_MIB = 16
"""The allowed growth of the driver's memory: Spark keeps notes of each task."""

Frames = Mapping[int, Callable[[], "DataFrame"]]
"""Number of inputs → function that makes the query."""


def figures(plan: Plan, spark: SparkSession) -> Iterator[Figure]:
    """Yield curves over files and queues, whether they are straight, and the driver's memory."""
    for what, unit, frames in (("a store", "files", _files), ("a topic", "queues", _queues)):
        if any(plan.wants(name) for name in _names(what)):
            with frames(spark) as made:
                yield from _growth(plan, what, unit, made, lambda: driver_memory(spark))


@contextmanager
def _files(spark: SparkSession) -> Iterator[Frames]:
    """Yield stores with the first files of one log."""
    with fake_cluster(FILE_BYTES, 1) as (fake, folder), ExitStack() as stack:
        count = (FILES[-1] + 1) * FILE_BYTES // SMALLEST_RECORD_BYTES
        fill_with_batches(fake.broker_addr, TOPIC, 1, count, BODY)
        frames: dict[int, Callable[[], DataFrame]] = {}
        for size in FILES:
            lab = Path(stack.enter_context(TemporaryDirectory(dir=folder)))
            if link_log_files(folder / "broker-a-0", lab, size) != size:
                raise ValueError(f"{count} messages do not fill {size} files")
            frames[size] = partial(store, spark, lab)
        yield frames


@contextmanager
def _queues(spark: SparkSession) -> Iterator[Frames]:
    """Yield topics of one broker, with equally many messages in each queue."""
    with served(*MEMORY_LIMIT) as fake:
        frames: dict[int, Callable[[], DataFrame]] = {}
        for size in QUEUES:
            name = f"{TOPIC}-{size}"
            create_topic(fake.broker_addr, name, size)
            count = size * MESSAGES_PER_QUEUE
            fill_with_batches(fake.broker_addr, name, size, count, BODY, MESSAGES_PER_QUEUE)
            frames[size] = partial(topic, spark, fake.namesrv_addr, name)
        yield frames


class Cost(NamedTuple):
    """The cost of planning a query, and of reading everything."""

    planned_s: float
    read_s: float


def _names(what: str) -> tuple[str, str, str]:
    return f"planning {what}", f"reading {what}", f"driver's memory, {what}"


def _growth(
    plan: Plan, what: str, unit: str, frames: Frames, memory: Callable[[], Memory]
) -> Iterator[Figure]:
    least, most = min(frames), max(frames)
    planning, reading, driver = _names(what)
    read_all(frames[least]())  # the first query has costs that no other has
    costs: dict[int, list[Cost]] = {size: [] for size in frames}
    held: dict[int, Memory] = {}
    for _ in range(plan.rounds):
        for size, make in frames.items():
            costs[size].append(_cost(make))
            held.setdefault(size, memory())
    for name, at in ((planning, 0), (reading, 1)):
        curve_ms = {size: median(cost[at] for cost in some) * 1e3 for size, some in costs.items()}
        yield from _curve(name, unit, curve_ms, "ms")
        yield straight(name, unit, curve_ms)
    heap_mib = {size: one.heap_mib for size, one in held.items()}
    yield from _curve(driver, unit, heap_mib, "MiB")
    python_mib = held[most].python_mib - held[least].python_mib
    yield Figure(
        group="spark", name=f"{driver}: {most:,} {unit} more than {least}", unit="MiB",
        value=heap_mib[most] - heap_mib[least] + python_mib, at_most=KEPT_MIB,
        note=f"heap after a collection, and {python_mib:+.1f} MiB of Python",
    )  # fmt: skip


def _cost(make: Callable[[], DataFrame]) -> Cost:
    begin = perf_counter()
    make().rdd.getNumPartitions()
    planned_s = perf_counter() - begin
    return Cost(planned_s, read_all(make()).seconds)


def _curve(name: str, unit: str, values: Mapping[int, float], value_unit: str) -> Iterator[Figure]:
    for x, value in values.items():
        yield Figure(group="spark", name=name, x=x, x_unit=unit, value=value, unit=value_unit)


def straight(name: str, unit: str, curve_ms: Mapping[int, float]) -> Figure:
    """Return the cost of one of the most, divided by that of one of the second most."""
    *_, (fewer, fewer_ms), (most, most_ms) = sorted(curve_ms.items())
    return Figure(
        group="spark", name=f"{name}: one of {most:,} {unit} by one of {fewer:,}", unit="times",
        value=(most_ms / most) / (fewer_ms / fewer), at_most=LINEAR,
        note=f"{fewer_ms:,.0f} to {most_ms:,.0f} ms",
    )  # fmt: skip
