"""What `Cluster.create_topic` and `Cluster.seed` take for a topic, a queue count and a body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import fakemq


@pytest.fixture(scope="module")
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster() as cluster:
        yield cluster


@pytest.mark.parametrize("name", ["", "a b", "ü", "a/b", "x" * 128])
def test_name_that_no_client_could_use_is_refused(mq: fakemq.Cluster, name: str) -> None:
    with pytest.raises(fakemq.ConfigError, match="topic"):
        mq.create_topic(name, 1)
    with pytest.raises(fakemq.ConfigError, match="topic"):
        mq.seed(name, [b"x"])


@pytest.mark.parametrize("queues", [0, -1, 1.5, "8"])
def test_invalid_queue_count_is_refused(mq: fakemq.Cluster, queues: Any) -> None:
    with pytest.raises(fakemq.ConfigError, match="queues of topic orders"):
        mq.create_topic("orders", queues)


@pytest.mark.parametrize("bodies", [b"abc", "abc", [1], [None]])
def test_bodies_are_a_list_of_bytes_or_texts(mq: fakemq.Cluster, bodies: Any) -> None:
    with pytest.raises(TypeError, match="expected"):
        mq.seed("orders", bodies)
