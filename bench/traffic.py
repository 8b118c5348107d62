"""The same Java client at Java 4.9.7 and at the fake: sends, batches, consumption, latencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from statistics import quantiles

from bench.benchmark import WARM_UP_REPORTS, Benchmark, Jvm, run
from bench.fill import fill_with_batches
from bench.measure import Figure, Plan, Round, compared
from bench.rivals import QUEUES, Measure, Rivals, Side

THREADS = (1, 16, 64)
BACKLOG = 4_500_000
"""Over a quarter of a minute of it is consumed before the measurement."""
PER_SECOND, WARM_UP, COUNT = 500, 2000, 3000
"""For the messages whose latencies are measured: a rate far below what either side can do."""
_BATCHES = "messages/s in batches of 16, 64 threads"
_CONSUMED = "consumed/s, 20 threads"
_LATENCIES = {
    (kind, percent): f"{what}, p{percent}"
    for kind, what in (("sends", "send to answer"), ("arrivals", "send to listener"))
    for percent in (50, 99)
}


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield the rounds of all measures, which take turns; nothing without Java."""
    wanted = {
        measure: kept
        for measure, names in measures().items()
        if (kept := [name for name in names if plan.wants(name)])
    }
    if not plan.java or not wanted:
        return
    with Rivals() as rivals:

        def once() -> dict[str, Round]:
            return dict(pair for measure in wanted for pair in rivals.once(measure).items())

        found = plan.repeat(once)
    for name in (name for names in wanted.values() for name in names):
        slow = name in _LATENCIES.values()
        yield compared(
            "traffic",
            name,
            found[name],
            "ms" if slow else "/s",
            at_least=None if slow else 1.0,
            at_most=1.0 if name.endswith("p99") else None,
        )


def measures() -> dict[Measure, Sequence[str]]:
    """Return the measures, and the names of the values that each returns."""
    sends: dict[Measure, Sequence[str]] = {
        partial(_sends, threads): [_sends_name(threads)] for threads in THREADS
    }
    return sends | {
        _batches: [_BATCHES],
        _consumed: [_CONSUMED],
        _latencies: [*_LATENCIES.values()],
    }


def _sends_name(threads: int) -> str:
    return f"sends/s, {threads} thread{'s' if threads > 1 else ''}"


def _sends(threads: int, side: Side) -> dict[str, float]:
    report = run("Producer", side.namesrv_addr, side.topic, "-w", str(threads))
    return {_sends_name(threads): report["Send TPS"]}


def _batches(side: Side) -> dict[str, float]:
    report = run("BatchProducer", side.namesrv_addr, side.topic)
    return {_BATCHES: report["Send MPS"]}


def _consumed(side: Side) -> dict[str, float]:
    fill_with_batches(side.broker_addr, side.topic, QUEUES, BACKLOG)
    with closing(Benchmark("Consumer", side.namesrv_addr, side.topic)) as benchmark:
        reports = [benchmark.report(number) for number in range(1, WARM_UP_REPORTS + 1)]
    return {_CONSUMED: last_busy(reports)["Consume TPS"]}


def last_busy(reports: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the last report whose every second had messages. Raise ValueError if there is none.

    A consumer that reports each second starts a new maximum with each report, which is 0 after a
    second without messages. In the report before, a part of the last second may have been idle.
    """
    busy = [report for report in reports if report["MAX(B2C) RT(ms)"] > 0]
    if len(busy) < len(reports):
        del busy[-1:]
    if not busy:
        raise ValueError(f"a backlog of {BACKLOG} is gone before its consumption is measured")
    return busy[-1]


class Latencies(Jvm):
    """The program that times single messages; ``micros`` by "sends" and "arrivals"."""

    def __init__(self, side: Side) -> None:
        self.micros: dict[str, list[int]] = {}
        arguments = (str(number) for number in (PER_SECOND, WARM_UP, COUNT))
        super().__init__(
            "conformance.Program",
            *(side.namesrv_addr, "latencies", side.topic, f"G{side.topic}", *arguments),
        )

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind in ("sends", "arrivals"):
            self.micros[kind] = [int(text) for text in rest.split()]


def _latencies(side: Side) -> dict[str, float]:
    with Latencies(side) as program:
        timeout_s = 60 + (WARM_UP + COUNT) / PER_SECOND
        program.wait_for(lambda: len(program.micros) == 2, "latencies", timeout_s)
    return {
        name: percentile(program.micros[kind], percent) / 1000
        for (kind, percent), name in _LATENCIES.items()
    }


def percentile(values: Sequence[int], percent: int) -> float:
    """Return the smallest value that ``percent`` of the values do not exceed."""
    return quantiles(values, n=100, method="inclusive")[percent - 1]
