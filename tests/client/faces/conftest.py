"""What the tests of the faces share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq


@pytest.fixture(scope="module")
def cluster() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(masters=2, topics={"orders": 2}) as mq:
        yield mq


@pytest.fixture
def mq(cluster: fakemq.Cluster) -> fakemq.Cluster:
    cluster.reset()
    return cluster


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
