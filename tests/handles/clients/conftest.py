"""A frozen cluster for tests of clients inside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from tests.support.inside_clients import TOPICS


@pytest.fixture(scope="module")
def frozen() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(topics=TOPICS, clock="frozen", seed=1) as cluster:
        yield cluster


@pytest.fixture
def mq(frozen: fakemq.Cluster) -> fakemq.Cluster:
    frozen.reset()
    return frozen
