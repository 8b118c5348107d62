"""RocketMQ 5's clients in Go, Node and Rust see at the fake what they see behind a real proxy.

What that is was recorded; ``python -m conformance.drivers.official_clients`` compares it with a
real cluster now. Java's and Python's clients are in test_v5_clients.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from conformance.drivers.beside import recorded
from conformance.drivers.official_clients import (
    CLIENTS,
    Observed,
    OfficialClient,
    difference,
    front,
    observe,
)
from conformance.drivers.v5_clients import Where
from conformance.live.groups import CROWDED
from conformance.live.toolchains import require

# Slow: toolchains that build once, checks of transactions, and what comes again after seconds.
pytestmark = [pytest.mark.slow, pytest.mark.jvm, pytest.mark.timeout(1200), CROWDED]

Results = dict[str, Future[dict[str, Observed]]]
CASES = [
    pytest.param(one, scenario, id=f"{one.name} {scenario}")
    for one in CLIENTS
    for scenario in one.scenarios
]


@pytest.fixture(scope="module")
def where() -> Iterator[Where]:
    with front(fake=True) as found:
        yield found


@pytest.fixture(scope="module")
def results(where: Where, request: pytest.FixtureRequest) -> Iterator[Results]:
    """What the scenarios that tests ask for observe; those of each client in one process."""
    wanted: dict[str, list[str]] = {}
    for item in request.session.items:
        if item.path == request.path and isinstance(item, pytest.Function):
            client = item.callspec.params["client"]
            assert isinstance(client, OfficialClient)
            if "scenario" in item.callspec.params:
                scenario = str(item.callspec.params["scenario"])
                wanted.setdefault(client.name, []).append(scenario)
    with ThreadPoolExecutor(len(CLIENTS)) as pool:
        yield {
            one.name: pool.submit(observe, one, where, wanted[one.name])
            for one in CLIENTS
            if one.name in wanted and one.missing() is None
        }


@pytest.mark.parametrize(("client", "scenario"), CASES)
def test_official_client_sees_what_was_recorded(
    results: Results, where: Where, client: OfficialClient, scenario: str
) -> None:
    require(client.missing())
    found = difference(client, scenario, results[client.name].result()[scenario])
    if found:  # look again, alone
        print(found)
        found = difference(client, scenario, observe(client, where, [scenario])[scenario])
    assert not found, f"\n{found}"


@pytest.mark.parametrize("client", CLIENTS, ids=[one.name for one in CLIENTS])
def test_every_scenario_of_a_client_is_recorded(client: OfficialClient) -> None:
    assert set(client.scenarios) == recorded(client.recording).keys()
