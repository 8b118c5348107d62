"""Options and fixtures of the projects whose tests are measured; ``bench.suite`` runs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.suites.clusters import FIXTURE, FRESH, KINDS, STARTED, Fixture, Place, classes
from fakemq.fixtures import factories

controlled_proc = factories.rocketmq_proc(control_port=0)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--on", choices=KINDS, default=FIXTURE, help="the cluster of the tests")
    parser.addoption("--tests", type=int, default=100, help="how many tests the project has")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test a number, and each class of tests a cluster of its own if it needs one."""
    if "number" in metafunc.fixturenames:
        fresh = metafunc.config.getoption("--on") == FRESH
        pairs = [
            (at if fresh else 0, number)
            for at, numbers in enumerate(classes(metafunc.config.getoption("--tests")))
            for number in numbers
        ]
        metafunc.parametrize(("place", "number"), pairs, indirect=["place"])


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest) -> Iterator[Place | None]:
    """The cluster of a class of tests; None where `rocketmq` is the cluster."""
    kind = request.config.getoption("--on")
    if kind == FIXTURE:
        yield None
        return
    with STARTED[kind]() as started:
        yield started


@pytest.fixture
def cluster(request: pytest.FixtureRequest, place: Place | None) -> Place | Fixture:
    """The cluster of a test, emptied if that is possible."""
    if place is None:
        return Fixture(request.getfixturevalue("rocketmq"))
    place.reset()
    return place
