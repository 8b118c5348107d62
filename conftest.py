"""Plugins for the whole suite: pytest takes their names only from a conftest at the root."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

# Hypothesis builds its character tables on first use, which takes seconds; a busy machine may also
# be slow. pytest-timeout ends tests that hang.
settings.register_profile("fakemq", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", settings.get_profile("fakemq"), max_examples=10)
settings.load_profile("fakemq")

pytest_plugins = ["pytester", "tests.support.group_times", "tests.support.pieces"]

OTHER_LANGUAGES = {"java", "go", "spark"}
"""Fixtures of tests that start a JVM or the Go toolchain; see the marker ``jvm``."""


LIVE_GROUPS = {"crowded", "waiting"}
"""The xdist groups of tests with real clients; see conformance/live/groups.py."""

LONGEST_GROUPS = ("crowded", "waiting", "spark")
"""The xdist groups that begin first."""

YIELDING_NICENESS = 10
"""Of the other workers, beside the default of 0: under load they get a tenth of a core each."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many workers ``-n auto`` starts: one for each core, and two for live tests.

    Workers of the groups "crowded" and "waiting" leave a core idle half of the time. One more is
    enough without them: some tests wait for sockets.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    live = 1 if "not jvm" in config.getoption("markexpr") else len(LIVE_GROUPS)
    return (cores or 1) + live


def pytest_collection_finish() -> None:
    """Let the garbage collector skip the tests and their modules.

    Every worker holds all tests. To search them again and again took a seventh of the processor
    time of the tests without a JVM.
    """
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Lower the priority of a worker before its first test without real clients.

    A Java client gives a broker three seconds to answer, and Spark alone would take every core. A
    process cannot raise its priority again: a worker gets its group of live tests first.
    """
    if hasattr(item.config, "workerinput") and not _is_live(item):
        lower_priority()


def lower_priority() -> None:
    """Give this process the priority of tests that yield, where it has not a lower one."""
    missing = YIELDING_NICENESS - os.getpriority(os.PRIO_PROCESS, 0)
    if missing > 0:
        os.nice(missing)


def _is_live(item: pytest.Item) -> bool:
    group = item.get_closest_marker("xdist_group")
    return group is not None and group.args[0] in LIVE_GROUPS


@pytest.hookimpl(tryfirst=True)  # before pytest selects by ``-m``
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests that start a JVM, and put slow tests first.

    Workers of xdist take tests in this order, so that no slow test is the last one. Tests that
    share an expensive fixture are of one ``xdist_group``; groups come before all others, and the
    rest goes to workers in pieces of files (`tests.support.pieces`).
    """
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if OTHER_LANGUAGES.intersection(fixtures):
            item.add_marker(pytest.mark.jvm)
    if hasattr(config, "workerinput"):
        items.sort(key=_rank)


def _rank(item: pytest.Item) -> tuple[int, bool]:
    """Return where a test comes: those of long groups, of other groups, and of none, slow first."""
    group = item.get_closest_marker("xdist_group")
    is_fast = item.get_closest_marker("slow") is None
    if group is None:
        return len(LONGEST_GROUPS) + 1, is_fast
    long = (place for place, name in enumerate(LONGEST_GROUPS) if name == group.args[0])
    return next(long, len(LONGEST_GROUPS)), is_fast
