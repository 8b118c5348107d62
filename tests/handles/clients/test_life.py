"""The deadlines, the names and the end of clients inside a cluster."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

import fakemq
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.errors import FakemqError
from fakemq.handles.clients.consumers import InsideConsumer
from tests.support.forking import in_child
from tests.support.inside_clients import TOPICS, bodies


def test_settle_moves_no_time(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    before_ms = mq.clock.now_ms()
    mq.seed("orders", [b"tea"])
    mq.settle()
    assert bodies(consumer) == [b"tea"]
    assert mq.clock.now_ms() == before_ms


def test_deadlines_have_the_name_of_their_client(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    kinds = {one.kind for one in mq.clock.timers() if one.owner == consumer.name}
    assert kinds >= {"heartbeat", "client_routes", "client_persist", "client_rebalance"}
    consumer.close()
    assert not [one for one in mq.clock.timers() if one.owner == consumer.name]


def test_member_that_is_partitioned_is_dropped_and_comes_back(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    partition = mq.partition("broker-a", consumer.name)
    mq.clock.advance("5m")
    assert mq.group("billing").members() == []
    partition.remove()
    mq.clock.advance("2m")
    assert [member.client_id for member in mq.group("billing").members()] == [consumer.name]


def test_reset_and_stop_end_the_clients_inside() -> None:
    with fakemq.Cluster(topics=TOPICS, clock="frozen") as mq:
        consumer = mq.consumer(group="billing", subscribe="orders")
        mq.reset()
        assert consumer.closed
        assert mq.group("billing").members() == []
        with pytest.raises(FakemqError, match=r"billing@inside-1> has ended"):
            consumer.suspend()
        consumer.close()
        producer = mq.producer()
    assert producer.closed
    assert consumer.received == []


def test_client_survives_a_restored_snapshot(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    producer = mq.producer()
    producer.send("orders", b"one")
    mq.clock.advance("10s")
    snapshot = mq.snapshot()
    producer.send("orders", b"two")
    mq.restore(snapshot)
    for number in range(4):
        producer.send("orders", b"%d" % number)
    mq.clock.advance("5m")
    assert not consumer.closed
    assert set(bodies(consumer)) >= {b"one", b"two", b"0", b"1", b"2", b"3"}


def test_equal_seeds_make_equal_journals() -> None:
    def journal() -> list[str]:
        options = {"topics": TOPICS, "clock": "frozen", "start_at": "2024-01-01", "seed": 7}
        with fakemq.Cluster(**options, namesrv_port=0) as mq:  # type: ignore[arg-type]

            def fail(message: ReceivedMessage) -> None:
                message.retry_later()

            mq.consumer(group="billing", subscribe="orders", on_message=fail)
            mq.consumer(group="billing", subscribe="orders")
            producer = mq.producer()
            for number in range(5):
                producer.send("orders", b"%d" % number)
            mq.clock.advance("30m")
            kinds = mq.journal.tail(100_000)
            return [f"{entry.at_ms} {type(entry.event).__name__}" for entry in kinds]

    assert journal() == journal()


def test_threads_may_share_a_producer(mq: fakemq.Cluster) -> None:
    producer, futures = mq.producer(), list[Future[int]]()

    def send(future: Future[int]) -> None:
        for _ in range(50):
            producer.send("orders", b"tea")
        future.set_result(1)

    for _ in range(4):
        futures.append(Future())
        threading.Thread(target=send, args=(futures[-1],)).start()
    assert sum(future.result(10) for future in futures) == 4
    assert len(mq.messages("orders")) == 200


def test_clients_with_equal_seeds_make_different_ids(mq: fakemq.Cluster) -> None:
    producers = [mq.producer(group=group, seed=7) for group in ("a", "b")]
    ids = {one.send("orders", b"x").message_id for one in producers}
    assert len(ids) == 2


def test_forked_child_cannot_use_a_client_and_may_close_it(mq: fakemq.Cluster) -> None:
    producer = mq.producer()

    def child() -> str:
        producer.close()
        try:
            producer.send("orders", b"x")
        except FakemqError as error:
            return str(error)
        return "sent"

    assert "forked child" in in_child(child)
    assert producer.send("orders", b"x").queue_offset == 0


def test_repr_of_a_client_that_was_not_made() -> None:
    consumer = InsideConsumer.__new__(InsideConsumer)
    assert repr(consumer) == "<InsideConsumer (not made)>"
