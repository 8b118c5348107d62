"""How a push consumer takes and drops queues."""

from __future__ import annotations

import pytest

from fakemq.client.consuming.received import NotConsumedError
from fakemq.protocol.bodies.queue import MessageQueue
from tests.support.played_broker import PlayedBroker
from tests.support.push_lab import PushLab


def test_queue_without_a_pull_for_two_minutes_is_taken_again() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker).start()
    queue = lab.core.queues[broker.queue()]
    assert queue.pulling is not None
    lab.services.tasks.cancel(queue.pulling)
    lab.advance(119_000)
    assert lab.core.queues[broker.queue()] is queue
    lab.advance(21_000)
    assert lab.core.queues[broker.queue()] is not queue
    lab.put(b"0")
    assert lab.consumed == [b"0"]


@pytest.mark.parametrize("fails", [False, True])
def test_result_of_a_dropped_queue_is_neither_committed_nor_sent_back(fails: bool) -> None:
    broker = PlayedBroker(queues=2)

    def react(_: object) -> None:
        broker.members.append("10.0.0.9@1")
        lab.services.rebalance_soon()
        lab.carrier.settle()
        assert lab.owned() == [broker.queue(0)]
        if fails:
            raise ValueError("no")

    lab = PushLab(broker, react).start()
    lab.put(b"0", queue_id=1)
    lab.advance(60_000)
    assert lab.consumed == [b"0"]
    assert broker.sent_back == []
    assert broker.committed(1) == 0


def test_dropped_queue_is_committed_and_forgotten() -> None:
    broker = PlayedBroker(queues=2)
    lab = PushLab(broker).start()
    lab.put(b"0", queue_id=1)
    broker.members.append("10.0.0.9@1")
    lab.services.rebalance_soon()
    lab.carrier.settle()
    assert lab.owned() == [broker.queue(0)]
    assert broker.committed(1) == 1
    lab.put(b"1", queue_id=1)
    lab.advance(60_000)
    assert lab.consumed == [b"0"]
    assert MessageQueue(topic="orders", broker_name="a", queue_id=1) not in lab.core.queues


def test_change_of_queues_gets_a_new_version_of_the_subscription() -> None:
    broker = PlayedBroker(queues=2)
    lab = PushLab(broker).start()
    lab.advance(1_000)
    before = broker.heartbeats[-1].consumer_data_set[0].subscription_data_set[0].sub_version
    broker.members.append("10.0.0.9@1")
    lab.services.rebalance_soon()
    lab.carrier.settle()
    after = broker.heartbeats[-1].consumer_data_set[0].subscription_data_set[0].sub_version
    assert after == before + 1_000


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("trace", [False, True])
def test_message_that_the_listener_has_not_begun_with_is_left_to_the_next_owner(
    ordered: bool, trace: bool
) -> None:
    """As a listener does that is to wait for another task, when the consumer ends."""

    def react(_: object) -> None:
        raise NotConsumedError

    broker = PlayedBroker()
    lab = PushLab(broker, react, ordered=ordered, trace=trace).start()
    lab.put(b"0", b"1")
    lab.advance(10_000)
    assert len(lab.consumed) <= 2
    lab.carrier.run(lab.core.shutdown())
    assert (broker.committed(), broker.sent_back, broker.sent) == (0, [], [])
