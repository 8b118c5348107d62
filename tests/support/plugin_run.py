"""What the fixture ``run`` of the plugin's tests is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., pytest.RunResult]
"""Runs pytest on the text of a test file."""
