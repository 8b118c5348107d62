"""The blocking lite pull consumer: polls, loops, queues and offsets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import fakemq
from fakemq.client import LitePullConsumer, MessageQueue, MQClientError
from tests.support.eventually import eventually

LONG_MS = 30_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(topics={"orders": 2, "refunds": 1}, clock="frozen") as mq:
        yield mq


def consumer(mq: fakemq.Cluster, **options: Any) -> LitePullConsumer:
    options = {"subscribe": {"orders": "*"}, "consume_from": "first"} | options
    return LitePullConsumer(mq.namesrv_addr, group="reports", **options)


def polled(c: LitePullConsumer, count: int) -> list[bytes]:
    """Return the bodies of the next messages, sorted."""
    bodies: list[bytes] = []
    while len(bodies) < count:
        messages = c.poll(timeout_ms=LONG_MS)
        assert messages, "not in time"
        bodies += [message.body for message in messages]
    return sorted(bodies)


def test_poll_returns_messages_with_their_places(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"one"], tags="a")
    with consumer(mq) as c:
        (message,) = c.poll(timeout_ms=LONG_MS)
    (stored,) = mq.messages("orders")
    assert (message.body, message.topic, message.tags) == (b"one", "orders", "a")
    assert (message.broker_name, message.queue_id, message.queue_offset) == (
        *(stored.broker, stored.queue_id, stored.offset),
    )


def test_poll_returns_nothing_in_time(mq: fakemq.Cluster) -> None:
    with consumer(mq) as c:
        assert c.poll(timeout_ms=0) == []


def test_poll_that_is_interrupted_when_messages_come_loses_none(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = LitePullConsumer._run

    def interrupted(self: LitePullConsumer, task: Any) -> Any:
        assert run(self, task)
        raise KeyboardInterrupt

    mq.seed("orders", [b"one"])
    with consumer(mq) as c:
        monkeypatch.setattr(LitePullConsumer, "_run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            c.poll(timeout_ms=LONG_MS)
        monkeypatch.undo()
        assert polled(c, 1) == [b"one"]


def test_commit_of_everything_is_at_the_broker(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"one", b"two", b"three"])
    with consumer(mq, auto_commit=False) as c:
        polled(c, 3)
        assert mq.group("reports").lag("orders") == 3
        c.commit()
        eventually(lambda: mq.group("reports").lag("orders") == 0)


def test_commit_of_a_message_is_the_offset_behind_it(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"one", b"two", b"three"])
    queue = MessageQueue(topic="refunds", broker_name="broker-a", queue_id=0)
    with consumer(mq, subscribe="refunds", auto_commit=False) as c:
        for message in c:
            if message.body == b"two":
                c.commit(message)
                break
        assert c.committed(queue) == 2
        c.commit({queue: 1})
        assert c.committed(queue) == 1
        c.commit([queue])
        assert c.committed(queue) == 3


def test_shutdown_commits_what_a_loop_has_finished(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"one", b"two", b"three"])
    with consumer(mq, subscribe="refunds") as c:
        for message in c:
            if message.body == b"three":
                break
    assert mq.group("reports").lag("refunds") == 1


REFUNDS = MessageQueue(topic="refunds", broker_name="broker-a", queue_id=0)


@pytest.mark.parametrize("is_other_thread", [False, True])
def test_loop_continues_where_its_queue_was_sought(
    mq: fakemq.Cluster, is_other_thread: bool
) -> None:
    mq.seed("refunds", [b"0", b"1", b"2", b"3"])
    bodies = []
    with consumer(mq, subscribe="refunds") as c:
        for message in c:
            bodies.append(message.body)
            if len(bodies) == 2 and is_other_thread:
                thread = threading.Thread(target=c.seek, args=(REFUNDS, 0))
                thread.start()
                thread.join(LONG_MS / 1000)
            elif len(bodies) == 2:
                c.seek(REFUNDS, 0)
            elif len(bodies) == 3:
                break
    assert bodies == [b"0", b"1", b"0"]
    assert mq.group("reports").lag("refunds") == 4


def test_loop_commits_what_it_has_finished_after_a_seek(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"0", b"1", b"2", b"3"])
    bodies = []
    with consumer(mq, subscribe="refunds") as c:
        for message in c:
            bodies.append(message.body)
            if bodies == [b"0"]:
                c.seek(REFUNDS, 2)
            elif message.body == b"3":
                break
    assert bodies == [b"0", b"2", b"3"]
    assert mq.group("reports").lag("refunds") == 1


def test_loop_leaves_out_a_topic_that_is_unsubscribed(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"0", b"1"])
    bodies = []
    with consumer(mq, subscribe=["refunds", "orders"]) as c:
        for message in c:
            bodies.append(message.body)
            if message.topic == "orders":
                break
            c.unsubscribe("refunds")
            mq.seed("orders", [b"tea"])
    assert bodies == [b"0", b"tea"]


def test_loop_ends_with_a_shutdown_in_its_body(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"0", b"1"])
    with consumer(mq, subscribe="refunds") as c:
        for message in c:
            assert message.body == b"0"
            c.shutdown()


def test_shutdown_commits_nothing_that_was_only_polled(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"one", b"two"])
    with consumer(mq, subscribe="refunds") as c:
        polled(c, 2)
    assert mq.group("reports").lag("refunds") == 2


def test_shutdown_of_another_thread_ends_polls_and_loops(mq: fakemq.Cluster) -> None:
    with consumer(mq) as c:
        ended: list[object] = []
        threads = [
            threading.Thread(target=lambda: ended.append(c.poll(timeout_ms=LONG_MS))),
            threading.Thread(target=lambda: ended.append(list(c))),
        ]
        for thread in threads:
            thread.start()
        eventually(lambda: len(mq.journal.find("PullHeld")) >= 2)
    for thread in threads:
        thread.join(LONG_MS / 1000)
    assert ended == [[], []]


def test_queues_may_be_assigned_and_sought(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"%d" % number for number in range(5)])
    with consumer(mq, subscribe=None) as c:
        (queue,) = c.fetch_message_queues("refunds")
        c.assign([queue])
        assert c.assignment() == [queue]
        c.seek_to_begin(queue)
        assert polled(c, 5)[0] == b"0"
        c.seek(queue, 3)
        assert polled(c, 2) == [b"3", b"4"]
        c.seek_to_end(queue)
        mq.seed("refunds", [b"last"])
        assert polled(c, 1) == [b"last"]
        assert c.offset_for_timestamp(queue, 0) == 0


def test_paused_queue_is_read_no_further(mq: fakemq.Cluster) -> None:
    with consumer(mq, subscribe="refunds") as c:
        eventually(lambda: mq.journal.find("PullHeld", topic="refunds"))
        queues = c.assignment()
        c.pause(queues)
        mq.seed("refunds", [b"while it is held"])
        assert polled(c, 1) == [b"while it is held"]
        c.committed(queues[0])  # a further pull would be before it on the connection
        assert len(mq.journal.find("PullHeld", topic="refunds")) == 1
        c.resume(queues)
        mq.seed("refunds", [b"later"])
        assert polled(c, 1) == [b"later"]


def test_topic_is_subscribed_before_and_after_the_start(mq: fakemq.Cluster) -> None:
    divided: list[str] = []
    c = consumer(mq, subscribe=None)
    c.subscribe("orders", "paid", lambda topic, *_: divided.append(topic))
    mq.seed("orders", [b"paid"], tags="paid")
    mq.seed("orders", [b"open"], tags="open")
    mq.seed("refunds", [b"refund"])
    with c:
        assert polled(c, 1) == [b"paid"]
        eventually(lambda: divided)
        c.subscribe("refunds")
        assert polled(c, 1) == [b"refund"]
        c.unsubscribe("refunds")
        eventually(lambda: all(queue.topic == "orders" for queue in c.assignment()))


def test_tags_of_assigned_queues_are_set_before_the_start(mq: fakemq.Cluster) -> None:
    c = consumer(mq, subscribe=None)
    c.set_sub_expression_for_assign("orders", "paid")
    mq.seed("orders", [b"open"], tags="open")
    mq.seed("orders", [b"paid"], tags="paid")
    with c:
        c.assign(c.fetch_message_queues("orders"))
        for queue in c.assignment():
            c.seek_to_begin(queue)
        assert polled(c, 1) == [b"paid"]
        with pytest.raises(MQClientError, match="only can be called before start"):
            c.set_sub_expression_for_assign("orders", "*")


def test_listener_of_queues_asks_for_the_present_ones(mq: fakemq.Cluster) -> None:
    def routes() -> int:
        return len(mq.journal.find("RequestReceived", code="GET_ROUTEINFO_BY_TOPIC"))

    with consumer(mq) as c:
        mq.wait_for(lambda: routes() == 2)  # at the start, and 10 ms later
        c.register_topic_message_queue_change_listener("refunds", print)
        assert routes() == 3, "what is there now is compared with what comes"


def test_consumer_that_does_not_run_says_what_to_do(mq: fakemq.Cluster) -> None:
    c = consumer(mq)
    with pytest.raises(MQClientError, match=r"with LitePullConsumer\(…\)`, or call start\(\)"):
        c.poll()
    with pytest.raises(MQClientError, match="call start"):
        list(c)


def test_unknown_option_is_refused_with_the_nearest() -> None:
    options: dict[str, Any] = {"autocommit": False}
    with pytest.raises(TypeError, match="did you mean auto_commit"):
        LitePullConsumer("127.0.0.1:1", group="reports", **options)
