"""The scales of an audit's plots."""

from __future__ import annotations

import msgspec
import pytest

from fakemq.spark.audit.summary import Count, Verdict
from tests.support.summaries import EMPTY


@pytest.mark.parametrize(
    ("numbers", "is_logarithmic"), [((3, 100), False), ((20, 1_000), False), ((1, 1_000), True)]
)
def test_scale_is_linear_where_numbers_are_near(
    numbers: tuple[int, int], is_logarithmic: bool
) -> None:
    from fakemq.spark.audit.report.plots import plots  # and matplotlib: not in every worker

    lost, delivered = numbers
    counts = [
        Count("orders", "billing", Verdict.LOST, lost),
        Count("orders", "billing", Verdict.DELIVERED, delivered),
    ]
    latency = [("orders / billing", lost, delivered, delivered)]
    summary = msgspec.structs.replace(EMPTY, counts=counts, latency_ms=latency)
    drawn = {plot.name: plot.svg for plot in plots(summary)}
    assert {*drawn} == {"verdicts", "latency"}
    for svg in drawn.values():
        assert ("logarithmic" in svg) == is_logarithmic
