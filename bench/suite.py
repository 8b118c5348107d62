"""What a project's tests take on the fake and on Java's cluster: seconds, processor, memory.

A test creates a topic, sends 10 messages, consumes them, fails at one of them once, gets that one
again and asserts. ``bench/suites`` has the tests of a Python and of a Java project. Each runs on

- ``fixture``: the cluster of the pytest fixture, reset before each test. A pytest process starts
  the Java project's JVM;
- ``process``: ``python -m fakemq``, which each test resets by its control port;
- ``shared``: one cluster of 4.9.7 for all tests;
- ``fresh``: a new cluster of 4.9.7 for each class of 10 tests, as Testcontainers starts them.

Everything counts from the start of the command that a user types: the tests' own process, what
starts clusters, and the clusters. The clusters retry without delay, so no test waits for a delay.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import product, starmap
from typing import NamedTuple

from bench.family import Cost, cost
from bench.measure import ENVIRONMENT, Figure, Plan, Round, compared
from bench.process import ROOT, TREE, WITHOUT_UVLOOP
from bench.suites.clusters import FIXTURE, FRESH, PROCESS, SHARED

TIMEOUT_S = 240.0
"""Of a row."""
PROJECTS = ("Python", "Java")
FAKES = {
    FIXTURE: "fake: pytest's fixture",
    PROCESS: "fake: a process, reset by its control port",
}
RIVALS = {
    SHARED: "Java: one cluster for all tests",
    FRESH: "Java: a new cluster for each class",
}
QUANTITIES = {"wall": "s", "CPU": "s", "memory": "MiB"}
HEADER = f"{'project':<8} {'cluster':<44} {'wall s':>8} {'CPU s':>8} {'MiB':>8}"
_FOLDER = ROOT / "bench" / "suites"
_MIB = 1 << 20


class Row(NamedTuple):
    """The tests of a project on a kind of cluster."""

    project: str
    kind: str


class Compared(NamedTuple):
    """A figure: the fake's row beside one of Java's."""

    fake: Row
    java: Row
    quantity: str

    def name(self, tests: int) -> str:
        project, fake = self.fake
        return f"{tests} {project} tests, {fake}/{self.java.kind}: {self.quantity}"


COMPARED = [
    Compared(Row(project, fake), Row(project, java), quantity)
    for project, fake, java, quantity in product(PROJECTS, FAKES, RIVALS, QUANTITIES)
]


def figures(plan: Plan) -> Iterator[Figure]:
    """Run each row once, and print it; yield the fake's beside Java's. Nothing without Java."""
    wanted = [one for one in COMPARED if plan.wants(one.name(plan.tests))]
    if not plan.java or not wanted:
        return
    from conformance.targets.java_jars import class_path

    class_path()  # so that compiling is not measured
    print(f"\n{plan.tests} tests\n{HEADER}", flush=True)
    costs: dict[Row, Cost] = {}
    needed = {row for one in wanted for row in (one.fake, one.java)}
    for row in filter(needed.__contains__, starmap(Row, product(PROJECTS, FAKES | RIVALS))):
        costs[row] = run(row, plan.tests)
        print(line(row, costs[row]), flush=True)
    print()
    for one in wanted:
        yield figure(one, plan.tests, costs)


def figure(one: Compared, tests: int, costs: dict[Row, Cost]) -> Figure:
    """Return the fake's cost beside Java's; a suite on the fake is to cost nothing more."""
    unit = QUANTITIES[one.quantity]
    pair = Round(
        java=_value(one.quantity, costs[one.java]), fake=_value(one.quantity, costs[one.fake])
    )
    return compared("suite", one.name(tests), [pair], unit, at_most=1.0)


def _value(quantity: str, cost: Cost) -> float:
    return {"wall": cost.wall_s, "CPU": cost.cpu_s, "memory": cost.peak_bytes / _MIB}[quantity]


def line(row: Row, cost: Cost) -> str:
    """Return a row of the table under `HEADER`."""
    cluster = (FAKES | RIVALS)[row.kind]
    mib = cost.peak_bytes / _MIB
    return f"{row.project:<8} {cluster:<44} {cost.wall_s:>8.1f} {cost.cpu_s:>8.1f} {mib:>8.0f}"


def run(row: Row, tests: int) -> Cost:
    """Run the tests of a project. Raise CommandError if one fails."""
    command = [
        *(sys.executable, "-P", "-m", "pytest", "-q", "-p", "fakemq.fixtures.plugin"),
        # Nothing of this repository's own tests: no options, no conftest of theirs.
        *("-c", os.devnull, "--rootdir", str(_FOLDER), "--confcutdir", str(_FOLDER)),
        *("--import-mode", "importlib", "-p", "no:cacheprovider"),
        *("--on", row.kind, "--tests", str(tests)),
        str(_FOLDER / f"test_{row.project.lower()}_project.py"),
    ]
    path = os.pathsep.join(map(str, (WITHOUT_UVLOOP, TREE, ROOT)))
    environment = ENVIRONMENT | {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return cost(command, TIMEOUT_S, environment, ROOT)
