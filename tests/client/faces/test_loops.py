"""Loops over a blocking push consumer: what acknowledges, and what sends back."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, islice
from types import FrameType
from typing import Any

import pytest

import fakemq
from fakemq.client import MQClientError
from fakemq.client.consuming.received import SUCCESS
from fakemq.client.faces.functions import Kind
from fakemq.client.faces.handlers import ConsumerFunctions
from fakemq.client.faces.loops import Handover, LoopDelivery, MessageLoop
from fakemq.client.faces.user_threads import Calls, UserThreads
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


# -- without a consumer ------------------------------------------------------------------------

MESSAGE: Any = "a message"


def waiting(handover: Handover, count: int) -> list[LoopDelivery]:
    """Return messages that wait for loops."""
    deliveries = [LoopDelivery(MESSAGE) for _ in range(count)]
    handover._waiting.extend(deliveries)
    return deliveries


def test_thread_with_two_loops_has_a_message_until_both_end() -> None:
    handover, threads = Handover(), UserThreads()
    waiting(handover, 2)
    first, second = (MessageLoop(handover, None, threads) for _ in "ab")
    next(first)
    next(second)
    second.close()
    assert threads.has_this
    first.close()
    assert not threads.has_this


def test_call_within_a_call_leaves_the_mark_of_its_thread() -> None:
    threads = UserThreads()
    handlers = ConsumerFunctions(
        "consumer", None, print, None, kind=Kind.PLAIN, wrap=lambda one: one
    )
    inner = Calls(handlers, threads)
    with threads.calling():
        inner([MESSAGE])
        with threads.calling():
            pass
        assert threads.has_this
    assert not threads.has_this


STEPS_OF = {inspect.getfile(MessageLoop), inspect.getfile(UserThreads)}


def is_interrupted(step: int, function: Callable[[], object]) -> bool:
    """Call a function; Ctrl-C comes at one step of the loops' code. Return whether it came.

    Python looks for signals when a function begins, and when one that is written in C returns.
    """
    left = step

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        if event in ("call", "c_return") and frame.f_code.co_filename in STEPS_OF:
            left -= 1
            if left < 0:
                raise KeyboardInterrupt

    sys.setprofile(profile)
    try:
        function()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


def test_interrupted_loop_loses_no_message() -> None:
    for step in count():
        handover, threads = Handover(), UserThreads()
        deliveries = waiting(handover, 2)
        loop = MessageLoop(handover, None, threads)
        bodies: list[object] = []
        came = is_interrupted(step, partial(bodies.extend, islice(loop, 2)))
        acknowledged = [one for one in deliveries if one._result is SUCCESS]
        loop.close()
        handover.close()
        assert all(one._finished.is_set() for one in deliveries), step
        assert len(acknowledged) <= len(bodies), step
        assert not threads.has_this, step
        if not came:
            break
    assert step > 10


def test_message_of_an_interrupted_loop_is_for_the_next() -> None:
    handover, threads = Handover(), UserThreads()
    (delivery,) = waiting(handover, 1)
    loop = MessageLoop(handover, None, threads)
    enter, threads.enter = threads.enter, interrupt  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        next(loop)
    threads.enter = enter  # type: ignore[method-assign]
    other = MessageLoop(handover, None, threads)
    assert next(other) is MESSAGE
    assert other.current is delivery
    handover.close()
    with pytest.raises(StopIteration):
        next(loop)


def interrupt(loop: int) -> None:
    raise KeyboardInterrupt
