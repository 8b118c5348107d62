"""Plugins for the whole suite: pytest takes their names only from a conftest at the root."""

pytest_plugins = ["pytester"]
