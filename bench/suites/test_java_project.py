"""A Java project's tests in one JVM, on clusters that this process starts, as Testcontainers would.

See Suite.java for the tests.
"""

from __future__ import annotations

import pytest

from bench.benchmark import Jvm
from bench.suites.clusters import FIXTURE, TIMEOUT_S, Clusters, Place, classes
from conformance.targets.java_jars import REFERENCE
from fakemq import Cluster


class JavaProject(Jvm):
    """The JVM of the tests, with a 4.9.7 client."""

    def __init__(self) -> None:
        self._done = 0
        super().__init__("conformance.Program", "-", "suite", version=REFERENCE)

    def run(self, place: Place, numbers: range) -> None:
        """Run the tests of a class. Raise DriverError if one fails."""
        done = self._done
        words = (place.namesrv_addr, place.control_url or "-", numbers.start, len(numbers))
        self.say(" ".join(map(str, words)))
        self.wait_for(lambda: self._done > done, f"tests {numbers}", TIMEOUT_S * len(numbers))

    def on_line(self, line: str) -> None:
        self._done += line == "done"


def test_orders_of_a_java_project(request: pytest.FixtureRequest) -> None:
    kind = request.config.getoption("--on")
    with JavaProject() as project, Clusters(kind) as clusters:
        for at, numbers in enumerate(classes(request.config.getoption("--tests"))):
            if kind == FIXTURE:
                mq: Cluster = request.getfixturevalue("controlled_proc")
                place = Place(mq.namesrv_addr, mq.control_url or "")
            else:
                place = clusters.of_class(at)
            project.run(place, numbers)
