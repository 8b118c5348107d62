"""Plugins for the whole suite: pytest takes their names only from a conftest at the root."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# The first text of a fresh clone takes seconds: hypothesis makes its tables of characters. And a
# machine that does much else stalls any example: what hangs, pytest-timeout ends.
settings.register_profile("fakemq", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fakemq")

pytest_plugins = ["pytester"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Workers of xdist take tests in this order: what is slow comes first, so that none waits last.

    Tests that share what is costly to start are of one ``xdist_group``; groups come before all.
    """
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)
