"""Clients of 5.x, popping, pulling, and behind a real proxy, see what was recorded.

It was recorded on a real cluster of 5.5.0. ``python -m conformance.drivers.later_clients`` compares
what they see there now, and with ``--record`` records it anew.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.compare import waiting
from conformance.drivers.beside import recorded, without_ids
from conformance.drivers.later_clients import (
    EVERY_SCENARIO,
    RECORDED,
    Program,
    brokers,
    programs,
)
from conformance.live.groups import WAITING

# Slow: JVMs, a client to install once, and what comes again after 10 and 30 s.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), WAITING]

LACKS = waiting(RECORDED)


@pytest.fixture(scope="module")
def running(java: None, request: pytest.FixtureRequest) -> Iterator[dict[str, Program]]:
    """For each scenario that a test asks for, the program that runs it."""
    items = [item for item in request.session.items if item.path == request.path]
    calls = [item.callspec.params for item in items if hasattr(item, "callspec")]
    wanted = {call["scenario"] for call in calls} - LACKS.keys()
    with brokers(fake=True) as namesrv_addr, programs(namesrv_addr, wanted) as found:
        yield found


@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_later_client_sees_what_was_recorded(running: dict[str, Program], scenario: str) -> None:
    if scenario in LACKS:
        pytest.skip(f"waiting: {LACKS[scenario]}")
    found = running[scenario]
    wanted = recorded(RECORDED)[scenario]
    if list(map(without_ids, found.observe(scenario))) != wanted:  # look again, alone
        assert list(map(without_ids, found.observe_again(scenario))) == wanted


def test_every_later_scenario_is_recorded() -> None:
    assert set(EVERY_SCENARIO) == recorded(RECORDED).keys()
    assert LACKS.keys() <= set(EVERY_SCENARIO)
