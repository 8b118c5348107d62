"""A streaming job over a million messages: killed three times, a broker away, each count exact."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from bench.measure import Figure, Plan
from conformance.spark.orders import Orders
from conformance.spark.trial import (
    SOURCE,
    Kill,
    Outage,
    Outcome,
    Target,
    Trial,
    fake_target,
    java_target,
)

GROUP = "spark_job"
ORDERS = Orders(1_000_000)
AT_ONCE = 125_000
HALF = ORDERS.customers // 2
TARGETS = {"fake": fake_target, "Java": java_target}
COURSES: dict[str, tuple[Kill | Outage, ...]] = {
    "left alone": (),
    "killed three times": (Kill(1, 0), Outage(2), Kill(4, 1), Kill(6, HALF)),
}


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure the job on the fake and on Java, with and without failures."""
    for where, target_of in TARGETS.items():
        for how, events in COURSES.items():
            name = f"{ORDERS.count:,} orders on {where}, {how}"
            if plan.wants(name) and (plan.java or where != "Java"):
                with target_of() as target, tempfile.TemporaryDirectory(prefix="spark-") as folder:
                    yield _figure(name, target, Path(folder), events)


def _figure(name: str, target: Target, folder: Path, events: tuple[Kill | Outage, ...]) -> Figure:
    began = perf_counter()
    ORDERS.send(target.namesrv_addr, SOURCE)
    sent_s = perf_counter() - began
    outcome = Trial(target, ORDERS, AT_ONCE, folder).run(events)
    return Figure(
        group=GROUP, name=name, value=outcome.seconds, unit="s",
        note=f"exact; {ORDERS.count / outcome.seconds:,.0f} orders/s; {_counts(outcome)};"
        f" sent in {sent_s:.1f} s",
    )  # fmt: skip


def _counts(outcome: Outcome) -> str:
    return (
        f"{outcome.micro_batches} micro-batches, {outcome.kills} kills in them and"
        f" {outcome.late_kills} after, a broker away for {outcome.away_s:.1f} s,"
        f" {outcome.restarts} other restarts,"
        f" {outcome.totals} totals with {outcome.duplicates} duplicates"
    )
