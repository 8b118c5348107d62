"""The measured projects: rows and figures, and a few of the tests themselves on the fake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from bench import suite
from bench.family import Cost
from bench.measure import Plan
from bench.suite import COMPARED, Row, figure, line, run
from bench.suites import clusters
from bench.suites.clusters import FIXTURE, FRESH, PROCESS, SHARED, Clusters, Place, classes

MIB = 1 << 20
COSTS = {
    Row("Python", FIXTURE): Cost(10.0, 8.0, 80 * MIB),
    Row("Python", FRESH): Cost(100.0, 160.0, 400 * MIB),
}


def test_tests_are_divided_into_classes() -> None:
    assert classes(25) == [range(10), range(10, 20), range(20, 25)]
    assert sum(map(len, classes(100))) == 100


@pytest.mark.parametrize(("kind", "started"), [(SHARED, 1), (FRESH, 3)])
def test_classes_share_a_cluster_or_have_their_own(
    kind: str, started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[str] = []
    most = 0
    names = count()

    @contextmanager
    def start() -> Iterator[Place]:
        nonlocal most
        running.append(f"cluster {next(names)}")
        most = max(most, len(running))
        yield Place(running[-1])
        running.pop()

    monkeypatch.setitem(clusters.STARTED, kind, start)
    with Clusters(kind) as used:
        places = [used.of_class(number // 2) for number in range(6)]
    assert len(set(places)) == next(names) == started
    assert places[0] == places[1]
    assert (most, running) == (1, [])


def test_each_fake_is_compared_with_each_of_javas() -> None:
    pairs = {(one.fake.kind, one.java.kind) for one in COMPARED if one.fake.project == "Java"}
    assert pairs == {(fake, java) for fake in (FIXTURE, PROCESS) for java in (SHARED, FRESH)}
    names = [one.name(100) for one in COMPARED]
    assert len(set(names)) == len(names)
    assert "100 Java tests, process/fresh: wall" in names


def test_figures_have_the_quantities_of_both_rows() -> None:
    found = {
        one.quantity: figure(one, 100, COSTS)
        for one in COMPARED
        if (one.fake, one.java) == tuple(COSTS)
    }
    assert {name: (one.java, one.value, one.unit) for name, one in found.items()} == {
        "wall": (100.0, 10.0, "s"),
        "CPU": (160.0, 8.0, "s"),
        "memory": (400.0, 80.0, "MiB"),
    }
    assert found["wall"].ratio == 0.1
    assert found["wall"].met


def test_row_is_aligned_under_its_header() -> None:
    row, cost = next(iter(COSTS.items()))
    text = line(row, cost)
    assert text.split()[-3:] == ["10.0", "8.0", "80"]
    assert len(text) == len(suite.HEADER)


def test_suite_without_java_has_no_figures() -> None:
    assert list(suite.figures(Plan(java=False))) == []


@pytest.mark.slow  # each starts an interpreter, pytest and a cluster
@pytest.mark.parametrize("kind", [FIXTURE, PROCESS])
def test_python_project_passes_on_the_fake(kind: str) -> None:
    cost = run(Row("Python", kind), 2)
    assert cost.cpu_s > 0
    assert cost.peak_bytes > 20 * MIB
