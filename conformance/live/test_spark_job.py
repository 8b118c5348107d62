"""A streaming job that counts orders, killed at every turn: each count is exact."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.spark.orders import Orders
from conformance.spark.trial import (
    SOURCE,
    Kill,
    Outage,
    Target,
    Trial,
    fake_target,
    java_target,
)

# Each start of the job is the start of a Spark, eight seconds; at every kill it starts again.
# With more kills, and a million orders: python -m bench spark_job.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

ORDERS = Orders(50_000)
AT_ONCE = 10_500  # five micro-batches: three with an event, and two after it
HALF = ORDERS.customers // 2
"""Of the totals of a micro-batch."""


def test_killed_job_counts_exactly_on_the_fake(java: None, tmp_path: Path) -> None:
    with fake_target() as target:
        check(target, tmp_path, [Kill(1, 0), Outage(2), Kill(3, HALF)])


def test_killed_job_counts_exactly_on_real_rocketmq(java: None, tmp_path: Path) -> None:
    with java_target() as target:
        check(target, tmp_path, [Kill(1, HALF)])


def check(target: Target, folder: Path, events: list[Kill | Outage]) -> None:
    ORDERS.send(target.namesrv_addr, SOURCE)
    outcome = Trial(target, ORDERS, AT_ONCE, folder).run(events)
    print(target.name, outcome)
    assert outcome.kills == sum(isinstance(event, Kill) for event in events)
    assert outcome.duplicates > 0
    assert outcome.totals - outcome.duplicates <= ORDERS.customers * outcome.micro_batches
