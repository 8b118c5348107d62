"""A cluster with a gRPC front for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.proxy_lab import ProxyLab


@pytest.fixture
def lab() -> Iterator[ProxyLab]:
    lab = ProxyLab()
    yield lab
    lab.free()
