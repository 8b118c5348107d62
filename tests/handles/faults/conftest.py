"""A frozen cluster behind sockets, and raw clients of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from tests.support.tcp import TcpPeer


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(clock="frozen", topics={"orders": 2}, seed=1) as cluster:
        yield cluster


@pytest.fixture
def peer(mq: fakemq.Cluster) -> Iterator[TcpPeer]:
    with TcpPeer(mq.broker("broker-a").addr) as connected:
        yield connected
