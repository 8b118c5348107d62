"""Clients of 5.x, popping, pulling, and by gRPC, see what was recorded.

It was recorded on a real cluster of 5.5.0. Clients that speak gRPC are behind a real proxy in front
of the fake's brokers, and at the fake's own front. ``python -m conformance.drivers.v5_clients``
compares what they see on a real cluster now, and with ``--record`` records it anew.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.compare import waiting
from conformance.drivers.beside import recorded, without_ids
from conformance.drivers.grpc_python_program import SCENARIOS as GRPC_PYTHON_SCENARIOS
from conformance.drivers.java_program import GRPC_SCENARIOS
from conformance.drivers.v5_clients import (
    EVERY_SCENARIO,
    RECORDED,
    Program,
    Where,
    brokers,
    programs,
)
from conformance.live.groups import CROWDED

# Slow: JVMs, a client to install once, and what comes again after 10 and 30 s.
pytestmark = [pytest.mark.slow, CROWDED]

LACKS = waiting(RECORDED)
AT_FRONT = (*GRPC_SCENARIOS, *GRPC_PYTHON_SCENARIOS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Where]:
    with brokers(fake=True) as where:
        yield where


@pytest.fixture(scope="module")
def running(
    java: None, cluster: Where, request: pytest.FixtureRequest
) -> Iterator[dict[str, Program]]:
    """For each scenario that a test asks for, the program that runs it."""
    behind_proxy = cluster._replace(grpc_addr="")
    with programs(behind_proxy, _wanted(request, "running")) as found:
        yield found


@pytest.fixture(scope="module")
def at_front(
    java: None, cluster: Where, request: pytest.FixtureRequest
) -> Iterator[dict[str, Program]]:
    """The same for those that run at the fake's own front."""
    with programs(cluster, _wanted(request, "at_front")) as found:
        yield found


def _wanted(request: pytest.FixtureRequest, fixture: str) -> set[str]:
    items = [item for item in request.session.items if item.path == request.path]
    found = [item for item in items if isinstance(item, pytest.Function)]
    chosen = [item.callspec.params for item in found if fixture in item.fixturenames]
    return {str(params["scenario"]) for params in chosen} - LACKS.keys()


@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_later_client_sees_what_was_recorded(running: dict[str, Program], scenario: str) -> None:
    _compare(running, scenario)


@pytest.mark.parametrize("scenario", AT_FRONT)
def test_grpc_client_sees_at_the_front_what_was_recorded(
    at_front: dict[str, Program], scenario: str
) -> None:
    _compare(at_front, scenario)


def _compare(running: dict[str, Program], scenario: str) -> None:
    if scenario in LACKS:
        pytest.skip(f"waiting: {LACKS[scenario]}")
    found = running[scenario]
    wanted = recorded(RECORDED)[scenario]
    if list(map(without_ids, found.observe(scenario))) != wanted:  # look again, alone
        assert list(map(without_ids, found.observe_again(scenario))) == wanted


def test_every_later_scenario_is_recorded() -> None:
    assert set(EVERY_SCENARIO) == recorded(RECORDED).keys()
    assert LACKS.keys() <= set(EVERY_SCENARIO)
