"""Java's client of 5.5.0 at Java 5.5.0 and at the fake: pops of single messages, and their acks.

A pop hands out one message and stores a checkpoint, an acknowledgement stores a record: each is a
request with one put, and so they can be compared with a send of group `traffic`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from bench.benchmark import Jvm
from bench.fill import fill_with_batches
from bench.measure import Figure, Plan, Round, compared
from bench.rivals import QUEUES, Measure, Rivals, Side
from conformance.targets.java_jars import NEWEST

WARM_UP_S, MEASURED_S = 5, 5
"""The warm-up pops for 5 s and acknowledges for 5 s, then the measurement does the same."""
BACKLOG = 600_000
TIMEOUT_S = 4 * (WARM_UP_S + MEASURED_S) + 30.0
ALL_QUEUES = -1


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"


class Load(NamedTuple):
    """How many threads pop at once, from the queues that have the backlog."""

    threads: int
    queues: int

    def named(self, what: str) -> str:
        """Return the name of a figure."""
        threads, queues = _counted(self.threads, "thread"), _counted(self.queues, "queue")
        return f"{what}/s, {threads}, {queues}"

    @property
    def names(self) -> tuple[str, str]:
        return self.named("pops"), self.named("acks")


LOADS = (Load(1, 1), Load(16, 1), Load(16, QUEUES))
"""With all queues, clients ask for the next message of any, as push consumers do."""


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield the rounds of all loads, which take turns; nothing without Java."""
    wanted = [load for load in LOADS if any(map(plan.wants, load.names))]
    if not plan.java or not wanted:
        return
    measures: list[Measure] = [partial(_popped, load) for load in wanted]
    with Rivals(version=NEWEST) as rivals:

        def once() -> dict[str, Round]:
            return dict(pair for measure in measures for pair in rivals.once(measure).items())

        found = plan.repeat(once)
    for name, rounds in found.items():
        if plan.wants(name):
            yield compared("pop", name, rounds, "/s", note=f"brokers of {NEWEST}, one message each")


class Pops(Jvm):
    """The program that pops and acknowledges; ``rates`` are pops and acks per second. Pops.java."""

    def __init__(self, side: Side, load: Load) -> None:
        self.rates: tuple[float, float] | None = None
        self.popped = 0
        queue_id = 0 if load.queues == 1 else ALL_QUEUES
        numbers = (queue_id, load.threads, WARM_UP_S, MEASURED_S)
        super().__init__(
            *("conformance.Pops", side.broker_addr, side.topic, f"G{side.topic}"),
            *map(str, numbers),
        )

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "rates":
            pops, acks, popped = rest.split()
            self.popped = int(popped)
            self.rates = float(pops), float(acks)


def _popped(load: Load, side: Side) -> dict[str, float]:
    """Measure one side. Raise ValueError if the backlog ends before the measurement does."""
    fill_with_batches(side.broker_addr, side.topic, load.queues, BACKLOG)
    with Pops(side, load) as program:
        program.wait_for(lambda: program.rates is not None, "rates", TIMEOUT_S)
    if program.popped >= BACKLOG:
        raise ValueError(f"a backlog of {BACKLOG} is gone before its pops are measured")
    assert program.rates is not None
    return dict(zip(load.names, program.rates, strict=True))
