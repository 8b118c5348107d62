"""A real proxy of 5.5.0 still answers gRPC clients as it was recorded.

Scenarios of the usual config run side by side on one cluster: most of them wait most of the time.
Those of other configs, those of more than 15 s, and those that stop nodes ran when they were
recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from conformance.compare import diff, recorded, recording
from conformance.live.groups import WAITING
from conformance.scenario import Scenario
from conformance.targets.fake_or_java import JavaTarget, java_target
from conformance.targets.java_jars import NEWEST
from conformance.wire.rpcs import FRONT

# Slow: four JVMs to start, and polls of 5 s that end in real time.
pytestmark = [pytest.mark.slow, WAITING]

AT_ONCE = 6
CHOSEN = [
    one
    for one in recorded(NEWEST)
    if one.grpc and one.config == FRONT and not one.is_long and not one.stops
]


def test_real_proxy_says_what_was_recorded(java: None) -> None:
    # It has real threads: what it shows by accident, it does not show again on a fresh cluster.
    different = [one for one, _ in _different(CHOSEN)]
    text = "\n".join(found for _, found in _different(different))
    assert not text, f"record anew and read the difference:\n{text}"


def _different(chosen: Sequence[Scenario]) -> list[tuple[Scenario, str]]:
    """Return the scenarios in which a fresh cluster differs from the recordings, and how."""
    if not chosen:
        return []
    with java_target(FRONT, 0, NEWEST, grpc=True) as target, ThreadPoolExecutor(AT_ONCE) as pool:
        transcripts = list(pool.map(lambda one: _transcript(one, target), chosen))
    found = [
        (one, diff(recording(one, NEWEST), seen, one, f"RocketMQ {NEWEST}"))
        for one, seen in zip(chosen, transcripts, strict=True)
    ]
    different = [(one, text) for one, text in found if text]
    print(*(text for _, text in different), sep="\n")
    return different


def _transcript(one: Scenario, target: JavaTarget) -> str:
    try:
        return one.transcript(target)
    except (AssertionError, TimeoutError) as error:  # something came, or did not come
        return f"{error}\n"
