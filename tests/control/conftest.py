"""A cluster with a control port, and a client at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from tests.support.control import Http


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        control_port=0, topics={"orders": 2}, clock="frozen", start_at="2024-02-29T12:00:00Z"
    ) as cluster:
        yield cluster


@pytest.fixture
def http_client(mq: fakemq.Cluster) -> Http:
    assert mq.control_url is not None
    return Http(mq.control_url)
