"""Plugins for the whole suite: pytest takes their names only from a conftest at the root."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Workers of xdist take tests in this order: what is slow comes first, so that none waits last.

    Tests that share what is costly to start are of one ``xdist_group``; groups come before all.
    """
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)
