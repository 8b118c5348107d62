"""Loops over a blocking push consumer: what acknowledges, and what sends back."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import fakemq
from fakemq.client import MQClientError
from tests.support.consuming_faces import LONG_S, RETRY, Seen, consumed, consumer
from tests.support.eventually import eventually


@pytest.fixture(scope="module")
def cluster() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(topics={"orders": 2, "refunds": 1}, clock="frozen") as mq:
        yield mq


def test_loop_acknowledges_when_it_asks_for_the_next_message(mq: fakemq.Cluster) -> None:
    bodies = []
    mq.seed("orders", [b"one", b"two", b"three"])
    with consumer(mq) as c:
        for message in c:
            bodies.append(message.body)
            if len(bodies) == 3:
                c.shutdown()  # in the loop's body: ends behind this message
    assert sorted(bodies) == [b"one", b"three", b"two"]
    eventually(lambda: consumed(mq))


def test_loop_that_breaks_sends_its_message_back(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"tea"])
    with consumer(mq) as c:
        for _ in c:
            break
        eventually(lambda: mq.delayed(RETRY))
        mq.clock.advance_to_next("delay_level")
        for message in c:
            assert message.reconsume_times == 1
            c.shutdown()
    assert not mq.messages("%DLQ%billing")


def test_loop_that_raises_sends_its_message_back(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"tea"])

    def work() -> None:
        with consumer(mq) as c:
            for _ in c:
                raise RuntimeError("cannot charge")

    with pytest.raises(RuntimeError, match="cannot charge"):
        work()
    assert [one.level for one in mq.delayed(RETRY)] == [3]


def test_messages_that_no_loop_took_are_left_to_others(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"one", b"two"])
    with consumer(mq, subscribe="refunds", consume_threads=2) as c:
        eventually(lambda: mq.messages("refunds")[1].deliveries)
        # The iterator is dropped at once, as a loop that breaks.
        assert next(iter(c)).body in (b"one", b"two")
    assert len(mq.delayed(RETRY)) == 1
    seen = Seen()
    with consumer(mq, subscribe="refunds", on_message=seen):
        eventually(lambda: seen.messages)
    assert len(seen.messages) == 1
    assert consumed(mq, "refunds")


@pytest.mark.parametrize(("ordered", "loops"), [(False, 3), (True, 2)])
def test_threads_may_each_have_a_loop(mq: fakemq.Cluster, ordered: bool, loops: int) -> None:
    together = threading.Barrier(loops + 1)
    mq.seed("orders", [b"one", b"two", b"three", b"four"])
    with consumer(mq, ordered=ordered) as c:

        def work() -> None:
            for _ in c:
                together.wait(LONG_S)
                break

        threads = [threading.Thread(target=work) for _ in range(loops)]
        for thread in threads:
            thread.start()
        together.wait(LONG_S)
    for thread in threads:
        thread.join(LONG_S)
    assert not any(thread.is_alive() for thread in threads)


def test_no_more_messages_wait_in_a_consumer_than_it_has_loops(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"one", b"two", b"three"])
    with consumer(mq, subscribe="refunds") as c:
        first, second = iter(c), iter(c)
        assert {next(first).body, next(second).body} == {b"one", b"two"}
        del second
        eventually(lambda: mq.delayed(RETRY))
        assert next(first).body == b"three"
        assert len(c._handover.loops) == 1


def test_iterator_ends_with_the_block_of_its_thread(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"tea"])
    with consumer(mq) as c:
        messages = iter(c)
        next(messages)
    assert c.wait(timeout_ms=0)
    assert len(mq.delayed(RETRY)) == 1
    assert not list(messages)


def test_loop_over_a_consumer_with_functions_is_refused(mq: fakemq.Cluster) -> None:
    with consumer(mq, on_message=print) as c, pytest.raises(MQClientError, match="on_message"):
        iter(c)
