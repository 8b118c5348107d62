"""A cluster behind sockets, and the command line asked about it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq


@pytest.fixture(scope="module")
def cluster() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(masters=2, topics={"orders": 4, "empty": 1}) as mq:
        mq.seed("orders", [f"body {number}" for number in range(24)], tags="paid", keys="k1 k2")
        yield mq
