"""Fixtures of the simulator's tests."""

from __future__ import annotations

import pytest

from tests.support.inside_lab import InsideLab


@pytest.fixture
def lab() -> InsideLab:
    return InsideLab()
