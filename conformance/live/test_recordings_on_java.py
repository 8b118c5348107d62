"""Real clusters of 4.9.7 still say what was recorded of them.

Scenarios of more than 15 s in real time are left out: they ran there when they were recorded.
Recordings of 5.5.0 are not compared here: on a busy machine its transaction checks and long polls
show other numbers. ``python -m conformance --reference 5.5.0 --record`` writes them anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from conformance.compare import diff, recorded, recording
from conformance.live.groups import WAITING
from conformance.scenario import Scenario, by_config
from conformance.targets.fake_or_java import JavaTarget, java_target
from conformance.targets.java_jars import CLIENT_VERSIONS

# Slow: holds that end in real time, and real clusters to start.
pytestmark = [pytest.mark.slow, WAITING]

CONFIGS = [
    (reference, config, together)
    for reference in CLIENT_VERSIONS[:1]
    for config, together in by_config(one for one in recorded(reference) if not one.is_long)
]
"""Configs of brokers of a reference, each with the scenarios that share a real cluster of it."""

AT_ONCE = 2
"""Clusters that run at a time: they wait more than they work."""


@pytest.fixture(scope="module")
def compared(java: None, request: pytest.FixtureRequest) -> Iterator[dict[int, Future[str]]]:
    """For each config that a test asks for: how its real cluster differs from the recordings."""
    items = [item for item in request.session.items if item.path == request.path]
    params = [item.callspec.params for item in items if isinstance(item, pytest.Function)]
    wanted = [number for number in range(len(CONFIGS)) if {"number": number} in params]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {number: pool.submit(_compare, *CONFIGS[number]) for number in wanted}


@pytest.mark.parametrize(
    "number",
    range(len(CONFIGS)),
    ids=[f"{reference} {' '.join(config) or 'defaults'}" for reference, config, _ in CONFIGS],
)
def test_real_cluster_says_what_was_recorded(compared: dict[int, Future[str]], number: int) -> None:
    text = compared[number].result()
    assert not text, f"record anew and read the difference:\n{text}"


def _compare(reference: str, config: Mapping[str, str], together: list[Scenario]) -> str:
    """Return how scenarios differ from their recordings, twice.

    A real cluster has real threads: what a scenario shows by accident, it does not show again on a
    fresh cluster.
    """
    different = [one for one, _ in _different(reference, config, together)]
    return "\n".join(text for _, text in _different(reference, config, different))


def _different(
    reference: str, config: Mapping[str, str], together: list[Scenario]
) -> Iterator[tuple[Scenario, str]]:
    """The scenarios in which a fresh cluster differs from the recordings, and how."""
    if not together:
        return
    with java_target(config, together[0].slaves, reference, grpc=together[0].grpc) as target:
        for one in together:
            wanted = recording(one, reference)
            found = diff(wanted, _transcript(one, target), one, f"RocketMQ {reference}")
            if found:
                print(found)
                yield one, found


def _transcript(one: Scenario, target: JavaTarget) -> str:
    try:
        return one.transcript(target)
    except (AssertionError, TimeoutError) as error:  # something came, or did not come
        return f"{error}\n"
