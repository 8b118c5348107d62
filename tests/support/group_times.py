"""A pytest plugin: says at the end of a run by several workers how long groups of tests took, and
the files that took longest.

CONTRIBUTING's table "Where the test time goes" has its figures from there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple

import pytest

OTHERS = "no group"
LISTED_FILES = 25


class Spent(NamedTuple):
    """The tests of one group or file. Seconds are those of its worker, one test after the other."""

    tests: int = 0
    seconds: float = 0
    processor_s: float = 0
    """User and system time of the worker, and of the processes of its tests that have ended."""


def group_of(nodeid: str) -> str:
    """Return the xdist group, which pytest-xdist adds to the name of a test."""
    return nodeid.rpartition("]")[2].partition("@")[2] or OTHERS


def file_of(nodeid: str) -> str:
    """Return the file of a test."""
    return nodeid.partition("::")[0]


def spent_by(key: Callable[[str], str], reports: Iterable[Any]) -> dict[str, Spent]:
    """Return what the reports of set-ups, calls and tear-downs add up to, by a key of node ids."""
    found: dict[str, Spent] = {}
    for report in reports:
        name = key(report.nodeid)
        tests, seconds, processor_s = found.get(name, Spent())
        found[name] = Spent(
            tests + (report.when == "setup"),
            seconds + report.duration,
            processor_s + getattr(report, "processor_s", 0),
        )
    return found


class GroupTimes:
    """Measures in each worker, and sums up where the workers' reports arrive."""

    def __init__(self) -> None:
        self._before_s = _processor_s()
        self._reports: list[Any] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self,
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now_s = _processor_s()
        # An attribute of a report goes with it from a worker to the process that shows it.
        report.processor_s = now_s - self._before_s  # type: ignore[attr-defined]
        self._before_s = now_s
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        by_group = spent_by(group_of, self._reports)
        if by_group.keys() <= {OTHERS}:
            return
        by_file = spent_by(file_of, self._reports).items()
        longest = sorted(by_file, key=lambda one: one[1].seconds, reverse=True)[:LISTED_FILES]
        for title, rows in (("group", sorted(by_group.items())), ("file", longest)):
            terminalreporter.section(f"seconds by {title}")
            for name, spent in rows:
                terminalreporter.line(
                    f"{name}: {spent.tests} tests, {spent.seconds:.0f} s,"
                    f" processor {spent.processor_s:.0f} s"
                )


def _processor_s() -> float:
    return sum(os.times()[:4])


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(GroupTimes())
