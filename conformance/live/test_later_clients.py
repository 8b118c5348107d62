"""Java's clients of 5.x, popping and pulling, and behind a real proxy, see what was recorded.

``python -m conformance.drivers.later_clients --record`` records it on a real cluster of 5.5.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from conformance.compare import waiting
from conformance.drivers.beside import recorded, without_ids
from conformance.drivers.java_program import GRPC_SCENARIOS, WAYS_SCENARIOS, JavaProgram
from conformance.drivers.later_clients import (
    EVERY_SCENARIO,
    RECORDED,
    brokers,
    grpc_program,
    program,
)
from conformance.live.groups import WAITING

# Slow: JVMs, and what comes again after 10 and 30 s.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), WAITING]

LACKS = waiting(RECORDED)
REAL = ("popplain", "popfilters", "popmembers", "grpcplain", "grpcchange")
"""Scenarios that a test repeats on a real cluster: not those that take long, nor those of timers.

A real broker on a busy machine delivers a timer seconds late.
"""
PLACES = [("fake", one) for one in EVERY_SCENARIO] + [("real", one) for one in REAL]


@pytest.fixture(scope="module")
def programs(java: None, request: pytest.FixtureRequest) -> Iterator[dict[str, JavaProgram]]:
    """One program for each place and kind of client that a test asks for: ``fake grpc``."""
    items = [item for item in request.session.items if item.path == request.path]
    calls = [item.callspec.params for item in items if hasattr(item, "callspec")]
    wanted = [(str(call["place"]), str(call["scenario"])) for call in calls]
    with ExitStack() as stack:
        found: dict[str, JavaProgram] = {}
        for place in ("real", "fake"):
            names = [one for where, one in wanted if where == place and _runs(where, one)]
            if not names:
                continue
            namesrv_addr = stack.enter_context(brokers(fake=place == "fake"))
            # The second program starts slowly, because a proxy does: the first one runs meanwhile.
            kinds = (("ways", WAYS_SCENARIOS, program), ("grpc", GRPC_SCENARIOS, grpc_program))
            for kind, scenarios, running in kinds:
                if chosen := [one for one in scenarios if one in names]:
                    found[f"{place} {kind}"] = stack.enter_context(running(namesrv_addr))
                    for one in chosen:
                        found[f"{place} {kind}"].begin(one)
        yield found


def _runs(place: str, scenario: str) -> bool:
    return place == "real" or scenario not in LACKS


@pytest.mark.parametrize(("place", "scenario"), PLACES)
def test_later_client_sees_what_was_recorded(
    programs: dict[str, JavaProgram], place: str, scenario: str
) -> None:
    if not _runs(place, scenario):
        pytest.skip(f"waiting: {LACKS[scenario]}")
    found = programs[f"{place} {'grpc' if scenario in GRPC_SCENARIOS else 'ways'}"]
    wanted = recorded(RECORDED)[scenario]
    if list(map(without_ids, found.observe(scenario))) != wanted:  # look again, alone
        assert list(map(without_ids, found.observe_again(scenario))) == wanted


def test_every_later_scenario_is_recorded() -> None:
    assert set(EVERY_SCENARIO) == recorded(RECORDED).keys()
    assert LACKS.keys() <= set(EVERY_SCENARIO)
