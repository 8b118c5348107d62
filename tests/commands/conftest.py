"""A cluster behind sockets, and the command line asked about it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from fakemq.client.blocking import Client


@pytest.fixture(scope="module")
def cluster() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(masters=2, topics={"orders": 4, "empty": 1}) as mq:
        mq.seed("orders", [f"body {number}" for number in range(24)], tags="paid", keys="k1 k2")
        yield mq


@pytest.fixture(scope="module")
def billing(cluster: fakemq.Cluster) -> Iterator[None]:
    """A group that has consumed all but the messages of one queue, with a member."""
    with Client(cluster.namesrv_addr, consumer_group="billing") as client:
        client.subscribe("orders", "paid")
        client.heartbeat()
        for queue in client.subscribe_queues("orders"):
            behind = 2 if (queue.broker_name, queue.queue_id) == ("broker-a", 0) else 0
            client.update_offset(queue, client.max_offset(queue) - behind, oneway=False)
        yield
