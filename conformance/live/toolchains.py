"""Tests that need a toolchain of another language."""

from __future__ import annotations

import os

import pytest


def require(missing: str | None) -> None:
    """Skip a test whose toolchain is ``missing``, which says how; with CI=true that is a failure.

    None stands for one that is there.
    """
    if missing is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
