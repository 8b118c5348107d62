"""The blocking pull consumer and pull schedule."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import fakemq
from fakemq.client import (
    MessageQueue,
    MQClientError,
    PullConsumer,
    PullScheduling,
    PullStatus,
    PullTaskContext,
)
from fakemq.client.faces.pulling import ScheduledPulling
from tests.support.eventually import eventually

LONG_S = 30.0
REFUNDS = MessageQueue(topic="refunds", broker_name="broker-a", queue_id=0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(topics={"orders": 2, "refunds": 1}, clock="frozen") as mq:
        yield mq


class Copy:
    """Pulls whatever is there, and commits it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def __call__(self, queue: MessageQueue, context: PullTaskContext[ScheduledPulling]) -> None:
        consumer = context.pull_consumer
        pulled = consumer.pull(queue, consumer.fetch_consume_offset(queue) or 0)
        self.bodies += [message.body for message in pulled.messages]
        consumer.update_consume_offset(queue, pulled.next_begin_offset)
        context.pull_next_delay_ms = 1


# -- the pull consumer ------------------------------------------------------------------------


def test_queues_are_pulled_and_committed_by_hand(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"one", b"two"])
    with PullConsumer(mq.namesrv_addr, group="mirror", topics="refunds") as c:
        (queue,) = c.fetch_message_queues_in_balance("refunds")
        assert queue == REFUNDS
        assert c.fetch_subscribe_message_queues("refunds") == [REFUNDS]
        assert not c.fetch_consume_offset(queue)  # a broker answers 0 for a young queue
        pulled = c.pull(queue, 0, max_messages=1)
        assert [one.body for one in pulled.messages] == [b"one"]
        pulled = c.pull_block_if_not_found(queue, pulled.next_begin_offset)
        assert [one.body for one in pulled.messages] == [b"two"]
        assert c.pull(queue, 2).status is PullStatus.NO_NEW_MSG
        c.update_consume_offset(queue, 1)
        assert (c.min_offset(queue), c.max_offset(queue), c.search_offset(queue, 0)) == (0, 2, 0)
        assert c.send_message_back(pulled.messages[0], 3)
    assert mq.group("mirror").lag("refunds") == 1
    assert len(mq.delayed("%RETRY%mirror")) == 1


def test_topic_may_be_registered_while_it_runs(mq: fakemq.Cluster) -> None:
    with PullConsumer(mq.namesrv_addr, group="mirror") as c:
        c.register_topic("orders")
        eventually(lambda: len(c.fetch_message_queues_in_balance("orders")) == 2)


def test_topic_must_be_text() -> None:
    topics: Any = [5]
    with pytest.raises(fakemq.ConfigError, match="expected text"):
        PullConsumer("127.0.0.1:1", group="mirror", topics=topics)


# -- the pull schedule ------------------------------------------------------------------------


def test_function_is_called_for_each_queue(mq: fakemq.Cluster) -> None:
    copy = Copy()
    mq.seed("orders", [b"one", b"two", b"three"])
    with PullScheduling(mq.namesrv_addr, group="mirror", callbacks={"orders": copy}):
        eventually(lambda: len(copy.bodies) == 3)
        mq.seed("orders", [b"four"])
        eventually(lambda: len(copy.bodies) == 4)
    assert mq.group("mirror").lag("orders") == 0


def test_function_may_be_decorated_also_while_it_runs(mq: fakemq.Cluster) -> None:
    orders, refunds = Copy(), Copy()
    scheduling = PullScheduling(mq.namesrv_addr, group="mirror")
    assert scheduling.on("orders")(orders) is orders
    mq.seed("refunds", [b"refund"])
    with scheduling:
        scheduling.on("refunds")(refunds)
        eventually(lambda: refunds.bodies == [b"refund"])


def test_shutdown_within_a_function_ends_behind_it(mq: fakemq.Cluster) -> None:
    returned = threading.Event()
    scheduling = PullScheduling(mq.namesrv_addr, group="mirror")

    @scheduling.on("refunds")
    def last(queue: MessageQueue, context: PullTaskContext[ScheduledPulling]) -> None:
        scheduling.shutdown()
        returned.set()

    scheduling.start()
    assert scheduling.wait(timeout_ms=30_000)
    assert returned.is_set()
    assert scheduling.state.name == "SHUTDOWN_ALREADY"


def test_shutdown_waits_for_a_function_whose_offset_would_be_lost(mq: fakemq.Cluster) -> None:
    began, may_end = threading.Event(), threading.Event()

    def slow(queue: MessageQueue, context: PullTaskContext[ScheduledPulling]) -> None:
        pulled = context.pull_consumer.pull(queue, 0)
        began.set()
        may_end.wait(LONG_S)
        context.pull_consumer.update_consume_offset(queue, pulled.next_begin_offset)

    mq.seed("refunds", [b"one", b"two"])
    scheduling = PullScheduling(mq.namesrv_addr, group="mirror", callbacks={"refunds": slow})
    with scheduling:
        assert began.wait(LONG_S)
        ending = threading.Thread(target=scheduling.shutdown)
        ending.start()
        assert not scheduling.wait(timeout_ms=0)
        may_end.set()
    ending.join(LONG_S)
    assert mq.group("mirror").lag("refunds") == 0


async def coroutine(*_: object) -> None: ...


def test_callback_that_cannot_be_called_is_refused() -> None:
    anything: Any = coroutine
    scheduling = PullScheduling("127.0.0.1:1", group="mirror")
    with pytest.raises(TypeError, match="use AsyncPullScheduling"):
        scheduling.on("orders")(anything)
    anything = 5
    with pytest.raises(TypeError, match="expected a function"):
        scheduling.on("orders")(anything)
    with pytest.raises(MQClientError, match="no callback: pass callbacks="):
        scheduling.start()
