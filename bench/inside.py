"""Tests with clients inside the cluster: how long they take, and what they leave behind."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, process_time

from bench.leaks import NOISE_KIB, Held, held
from bench.measure import Figure, Plan, best_ms
from fakemq import Cluster
from fakemq.client import ReceivedMessage
from fakemq.handles.clients.producers import InsideProducer

TESTS = 1_000
WARM_UP = 50
MESSAGES = 5_000
KEPT_TESTS = 100
"""After this number of tests what is held is compared: a growth of less than one object or of a
few bytes for each is none."""


def fail(message: ReceivedMessage) -> None:
    """Consume nothing: the message is sent back, and becomes a dead letter."""
    raise ValueError("not consumed")


def one_test(mq: Cluster) -> None:
    """A test as users write it: send, consume, retry twice, and find the dead letter."""
    mq.reset()
    consumer = mq.consumer(
        group="billing", subscribe="orders", on_message=fail, max_reconsume_times=2
    )
    mq.producer().send("orders", b"tea", keys="o-1")
    mq.clock.advance("10s")
    mq.clock.advance("30s")
    assert [message.reconsume_times for message in consumer.received] == [0, 1, 2]
    mq.assert_in_dlq("billing", bodies=[b"tea"])
    mq.close_clients()


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure a thousand tests, the rate of messages, and two idle hours."""
    with _silent(), Cluster(clock="frozen", topics={"orders": 4}, seed=1) as mq:
        _tests(mq, WARM_UP)
        took_s, busy_s = _durations(lambda: _tests(mq, TESTS))
        yield Figure(
            group="inside",
            name=f"{TESTS:,} tests: send, consume, retry twice, dead letter",
            value=took_s,
            unit="s",
            at_most=10,
            note=f"{1000 * took_s / TESTS:.1f} ms each, {1000 * busy_s / TESTS:.1f} of processor",
        )
        yield from _left_behind(mq)
        yield from _rates(mq, plan)
        yield Figure(
            group="inside",
            name="2 h with an idle consumer and a producer",
            value=_idle_ms(mq, min(plan.runs, 5)),
            unit="ms",
            at_most=1_000,
        )


def _left_behind(mq: Cluster) -> Iterator[Figure]:
    grown = growth(mq)
    for name, at_most in (("threads", 0), ("timers", 0), ("objects", KEPT_TESTS)):
        yield Figure(
            group="inside",
            name=f"{name} more after {KEPT_TESTS} tests",
            value=grown[name],
            unit="",
            at_most=at_most,
        )
    yield Figure(
        group="inside",
        name=f"memory more after {KEPT_TESTS} tests",
        value=grown["bytes"] / 1024,
        unit="KiB",
        at_most=NOISE_KIB,
    )


def growth(mq: Cluster, tests: int = KEPT_TESTS) -> Held:
    """Return what the cluster holds more after ``tests`` tests."""
    import tracemalloc

    tracemalloc.start()
    try:
        _tests(mq, WARM_UP)
        before, threads = held(mq), threading.active_count()
        _tests(mq, tests)
        after = held(mq)
        grown = Held({name: after[name] - count for name, count in before.items()})
        grown["threads"] = threading.active_count() - threads
        return grown
    finally:
        tracemalloc.stop()


def _rates(mq: Cluster, plan: Plan) -> Iterator[Figure]:
    def one_by_one(producer: InsideProducer) -> None:
        for _ in range(MESSAGES):
            producer.send("orders", b"x" * 100)

    def together(producer: InsideProducer) -> None:
        sends = [producer.send_async("orders", b"x" * 100) for _ in range(MESSAGES)]
        for send in sends:
            send.result()

    ways = (("one send after another", one_by_one), ("sends in the background", together))
    for name, way in ways:
        rates = []
        for _ in range(plan.rounds):
            mq.reset()
            consumer, producer = mq.consumer(group="billing", subscribe="orders"), mq.producer()
            begin = perf_counter()
            way(producer)
            assert len(consumer.received) == MESSAGES
            rates.append(MESSAGES / (perf_counter() - begin))
        yield Figure(
            group="inside",
            name=f"producer to consumer, {name}",
            value=max(rates),
            unit="messages/s",
            at_least=2_300,
        )


def _idle_ms(mq: Cluster, runs: int) -> float:
    mq.reset()
    mq.consumer(group="billing", subscribe="orders")
    mq.producer().send("orders", b"tea")
    mq.clock.advance("1m")
    return best_ms(lambda: mq.clock.advance("2h"), runs)


def _tests(mq: Cluster, tests: int) -> None:
    for _ in range(tests):
        one_test(mq)


def _durations(function: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that it takes, and those of the processor."""
    began_s, began_busy_s = perf_counter(), process_time()
    function()
    return perf_counter() - began_s, process_time() - began_busy_s


@contextmanager
def _silent() -> Iterator[None]:
    """Let consumers not log the errors of their functions."""
    logger = logging.getLogger("fakemq.client")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
