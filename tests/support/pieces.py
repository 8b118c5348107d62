"""A pytest plugin: workers of xdist take tests of no group in pieces of their files.

With ``--dist loadgroup`` alone they take them one by one. Then each worker makes what the tests of
a file share (strategies, fixtures of modules, what is kept of parsed sources), and a message goes
both ways for each test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.group_times import OTHERS, file_of, group_of

SIZE = 40
"""Tests of a piece: few enough that workers end at the same time."""


def pieces(nodeids: Iterable[str]) -> dict[str, str]:
    """Return the group of each test, or the piece of its file, by node ids in their order."""
    counts: Counter[str] = Counter()
    found: dict[str, str] = {}
    for nodeid in nodeids:
        group, file = group_of(nodeid), file_of(nodeid)
        if group == OTHERS:
            group = f"{file} {counts[file] // SIZE}"
            counts[file] += 1
        found[nodeid] = group
    return found


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return the scheduler of ``--dist loadgroup``; None leaves another one to xdist."""
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

    class Scheduling(LoadGroupScheduling):  # type: ignore[misc]  # xdist has no types
        """Its units of work are groups and pieces, in the order of the tests."""

        _pieces: dict[str, str] | None = None

        def _split_scope(self, nodeid: str) -> str:
            if self._pieces is None:
                self._pieces = pieces(self.collection)
            return self._pieces[nodeid]

    config.option.loadscopereorder = False
    return Scheduling(config, log)
