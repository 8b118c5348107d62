"""What a request costs does not depend on how much there is; `bench.growth` goes a hundred times
as far. It takes seconds because there has to be much.
"""

from __future__ import annotations

import pytest

from bench.growth import ASKED, REQUESTS, SIZES, each_us

MUCH = {"topics": 4_000, "queues": 4_000, "messages": 10_000} | dict.fromkeys(
    ("connections", "held pulls"), 1_000
)
FLAT = 1.2
"""A walk over all there is would cost several times as much, or half as much again if it is a copy
of a list."""
FEW, PATIENCE = 5, 30
"""Of this number of runs the cheapest of each request counts: the machine has other work, too."""


@pytest.mark.parametrize("what", SIZES)
def test_request_costs_the_same_for_any_amount_of_data(what: str) -> None:
    grow, _ = SIZES[what]
    labs = one, many = grow(1), grow(MUCH[what])
    for lab in labs:  # each place twice in a row: at the second time the caches have what it needs
        lab.places = [lab.places[at - at % 2] for at in range(REQUESTS)]
    grown = {}
    for asked in ASKED:
        least_us = {lab: [float("inf")] * (REQUESTS // 2) for lab in labs}
        for run in range(PATIENCE):
            for lab in labs:
                least_us[lab] = list(map(min, least_us[lab], each_us(lab, asked)[1::2]))
            if run >= FEW and sum(least_us[many]) <= FLAT * sum(least_us[one]):
                break
        else:
            grown[asked] = sum(least_us[many]) / sum(least_us[one])
    assert not grown, f"times as dear with {MUCH[what]} {what} as with one: {grown}"
