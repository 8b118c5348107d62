"""The Python client sees what Java's saw in its place, on a real cluster and on the fake.

What Java's client observes is recorded; ``python -m conformance.drivers.beside`` runs both beside
each other on a real cluster, on one of 5.5.0 too, and records it anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from conformance.drivers.beside import (
    DEFAULT_SCENARIOS,
    QUICK_SCENARIOS,
    differences,
    expected,
    neutral,
    recorded,
)
from conformance.drivers.python_program import PythonProgram
from conformance.live.groups import WAITING
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.processes import FakemqProcess, assert_same
from conformance.targets.quick_pair import QUICK, REAL_QUICK, TWO_MASTERS

# Seconds: two processes run forty scenarios side by side, each at a cluster of its own.
pytestmark = [pytest.mark.slow, WAITING]

TOO_LONG = {"orderlydying": "a lease of 60 s", "reset": "three pauses of 10 s"}
"""Scenarios for `conformance.drivers.beside` only, by what they wait for."""
CHOSEN = [scenario for scenario in QUICK_SCENARIOS if scenario not in TOO_LONG]


def begin(program: PythonProgram, request: pytest.FixtureRequest, name: str) -> None:
    """Begin the scenarios that this process will ask of a program, the longest first."""
    for item in request.session.items:
        call = getattr(item, "callspec", None)
        if call is not None and name in getattr(item, "fixturenames", ()):
            program.begin(call.params["scenario"])


@pytest.fixture(scope="module")
def fake_program(request: pytest.FixtureRequest) -> Iterator[PythonProgram]:
    """A Python program at a fake whose time is the machine's."""
    config = [f"{key}={value}" for key, value in QUICK.items()]
    with ExitStack() as stack:
        fake = stack.enter_context(FakemqProcess(*TWO_MASTERS, config=config))
        program = stack.enter_context(PythonProgram(fake.namesrv_addr))
        begin(program, request, "fake_program")
        yield program


@pytest.fixture(scope="module")
def real_program(
    request: pytest.FixtureRequest, fake_program: PythonProgram, java: None
) -> Iterator[PythonProgram]:
    """A Python program at a real cluster, while the fake's runs."""
    with ExitStack() as stack:
        real = stack.enter_context(JavaCluster(masters=2, config=REAL_QUICK))
        program = stack.enter_context(PythonProgram(real.namesrv_addr))
        begin(program, request, "real_program")
        yield program


def assert_as_java(program: PythonProgram, scenario: str) -> None:
    """The client observes what Java's did, at a second look if not at the first."""
    wanted = expected(scenario, recorded()[scenario], differences())
    assert_same(
        lambda: wanted,
        lambda: list(map(neutral, program.observe(scenario))),
        lambda: wanted,
        lambda: list(map(neutral, program.observe_again(scenario))),
    )


@pytest.mark.parametrize("scenario", CHOSEN)
def test_python_client_sees_on_a_real_cluster_what_javas_saw(
    real_program: PythonProgram, scenario: str
) -> None:
    assert_as_java(real_program, scenario)


@pytest.mark.parametrize("scenario", CHOSEN)
def test_python_client_sees_on_the_fake_what_javas_saw(
    fake_program: PythonProgram, scenario: str
) -> None:
    assert_as_java(fake_program, scenario)


@pytest.mark.parametrize("scenario", DEFAULT_SCENARIOS)
def test_python_client_sees_on_a_default_fake_what_javas_saw(scenario: str) -> None:
    with (
        FakemqProcess(*TWO_MASTERS) as fake,
        PythonProgram(fake.namesrv_addr) as program,
    ):
        assert_as_java(program, scenario)
