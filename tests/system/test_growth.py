"""What a request costs does not depend on how much there is; `bench.growth` goes a hundred times
as far. It takes seconds because there has to be much.
"""

from __future__ import annotations

import pytest

from bench.growth import ASKED, SIZES, run_us

MUCH = {"topics": 4_000, "queues": 4_000, "messages": 10_000} | dict.fromkeys(
    ("connections", "held pulls"), 1_000
)
FLAT = 1.7
"""A walk over all there is would cost several times as much. The cheaper a request is, the more it
shows that not all is in the processor's caches."""
PATIENCE = 30
"""The cheapest of this number of runs counts: the machine has other work, too."""


@pytest.mark.parametrize("what", SIZES)
def test_request_costs_the_same_for_any_amount_of_data(what: str) -> None:
    grow, _ = SIZES[what]
    labs = one, many = grow(1), grow(MUCH[what])
    grown = {}
    for asked in ASKED:
        best_us = {lab: float("inf") for lab in labs}
        for _ in range(PATIENCE):
            best_us = {lab: min(best_us[lab], run_us(lab, asked)) for lab in labs}
            if best_us[many] <= FLAT * best_us[one]:
                break
        else:
            grown[asked] = best_us[many] / best_us[one]
    assert not grown, f"times as dear with {MUCH[what]} {what} as with one: {grown}"
