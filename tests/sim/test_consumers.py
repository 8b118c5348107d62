"""Shares of queues, as Java's average allocation assigns them."""

from __future__ import annotations

import pytest

from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.sim.consumers import averagely

QUEUES = [MessageQueue(topic="orders", broker_name="broker-a", queue_id=n) for n in range(5)]


@pytest.mark.parametrize("members", [1, 2, 3, 5, 7])
def test_every_queue_has_one_owner_and_shares_differ_by_one(members: int) -> None:
    ids = [f"c{number}" for number in range(members)]
    shares = [averagely(QUEUES, ids, one) for one in ids]
    assert [queue for share in shares for queue in share] == QUEUES
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_first_members_have_more_queues_in_any_naming_order() -> None:
    assert averagely(QUEUES[::-1], ["b", "a"], "a") == QUEUES[:3]
    assert averagely(QUEUES, ["b", "a"], "b") == QUEUES[3:]


def test_other_client_has_no_queues() -> None:
    assert averagely(QUEUES, ["a"], "z") == ()
