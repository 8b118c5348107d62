"""The sums that a run by several workers shows at its end."""

from __future__ import annotations

from types import SimpleNamespace

from tests.support.group_times import OTHERS, Spent, file_of, group_of, spent_by


def report(nodeid: str, when: str, duration: float, **extra: float) -> SimpleNamespace:
    return SimpleNamespace(nodeid=nodeid, when=when, duration=duration, **extra)


def test_seconds_are_summed_by_group_and_file() -> None:
    reports = [
        report("conformance/test_a.py::test_one@crowded", "setup", 2.0, processor_s=1.0),
        report("conformance/test_a.py::test_one@crowded", "call", 3.0, processor_s=0.5),
        report("conformance/test_a.py::test_two[x@y]@crowded", "setup", 1.0, processor_s=0.5),
        report("tests/test_b.py::test_three[x@y]", "setup", 0.25),
        report("tests/test_b.py::test_three[x@y]", "teardown", 0.25),
    ]
    others = Spent(1, 0.5, 0)
    assert spent_by(group_of, reports) == {"crowded": Spent(2, 6.0, 2.0), OTHERS: others}
    files = {"conformance/test_a.py": Spent(2, 6.0, 2.0), "tests/test_b.py": others}
    assert spent_by(file_of, reports) == files
