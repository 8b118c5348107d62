"""Options and fixtures of the projects whose tests are measured; ``bench.suite`` runs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.suites.clusters import FIXTURE, KINDS, TESTS_OF_A_CLASS, Clusters, Fixture, Place
from fakemq.fixtures import factories

controlled_proc = factories.rocketmq_proc(control_port=0)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--on", choices=KINDS, default=FIXTURE, help="the cluster of the tests")
    parser.addoption("--tests", type=int, default=100, help="how many tests the project has")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make as many tests of one as were asked for."""
    if "number" in metafunc.fixturenames:
        metafunc.parametrize("number", range(metafunc.config.getoption("--tests")))


@pytest.fixture(scope="session")
def clusters(request: pytest.FixtureRequest) -> Iterator[Clusters]:
    """What is started for the tests, unless `rocketmq` is their cluster."""
    with Clusters(request.config.getoption("--on")) as started:
        yield started


@pytest.fixture
def cluster(request: pytest.FixtureRequest, number: int) -> Place | Fixture:
    """The cluster of a test, emptied if that is possible."""
    if request.config.getoption("--on") == FIXTURE:
        return Fixture(request.getfixturevalue("rocketmq"))
    clusters: Clusters = request.getfixturevalue("clusters")
    place = clusters.of_class(number // TESTS_OF_A_CLASS)
    place.reset()
    return place
