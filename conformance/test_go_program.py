"""The unchanged Go client sees on fakemq what it sees on the real cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

import fakemq
from conformance.conftest import QuickPair
from conformance.go_program import SCENARIOS, GoConsumer, GoProducer, binary, observe
from conformance.java_cluster import JavaCluster
from conformance.live import together, wait_received

# Seconds, not milliseconds: the client's own timers make single scenarios last up to 90 s, so all
# run side by side; the first test waits for two masters too, and maybe for a build.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

AT_ONCE = 10
"""Scenarios under way on each cluster. Most of them wait most of the time."""
HEARTBEAT_S = 30
"""A Go client tells a restarted broker of itself that often, and asks for new routes."""
TOPIC, QUEUES = "Brokers", 2
BOTH = {"broker-a", "broker-b"}

Observed = dict[str, tuple[Future[list[str]], Future[list[str]]]]


@pytest.fixture(scope="module")
def observed(go: None, quick_pair: QuickPair, request: pytest.FixtureRequest) -> Iterator[Observed]:
    """What the scenarios of this session observe on the real cluster and on the fake."""
    calls = [getattr(item, "callspec", None) for item in request.session.items]
    wanted = {call.params.get("scenario") for call in calls if call is not None}
    binary()  # once, and not while a scenario's time runs
    with ThreadPoolExecutor(AT_ONCE) as reals, ThreadPoolExecutor(AT_ONCE) as fakes:
        yield {
            scenario: (
                reals.submit(observe, quick_pair.real.namesrv_addr, scenario),
                fakes.submit(observe, quick_pair.fake.namesrv_addr, scenario),
            )
            for scenario in SCENARIOS
            if scenario in wanted
        }


# Up to a minute, by two heartbeats; the scenarios run meanwhile.
def test_sends_go_on_while_brokers_go_and_come(observed: Observed) -> None:
    with (
        JavaCluster(masters=2, topics={TOPIC: QUEUES}) as real,
        fakemq.Cluster(masters=2, topics={TOPIC: QUEUES}) as fake,
        ThreadPoolExecutor(2) as both,
    ):
        a, b = real.brokers
        on_real = both.submit(
            go_and_come, real.namesrv_addr, [(b.stop, b.start), (a.kill, a.start)]
        )
        one, other = fake.broker("broker-a"), fake.broker("broker-b")
        on_fake = both.submit(
            go_and_come, fake.namesrv_addr, [(other.stop, other.restart), (one.kill, one.restart)]
        )
        assert on_fake.result() == on_real.result()


def go_and_come(
    namesrv_addr: str, brokers: list[tuple[Callable[[], object], Callable[[], object]]]
) -> list[str]:
    """Lets broker-b, then broker-a leave and return while one client sends and one consumes."""
    seen = []
    producer = GoProducer(namesrv_addr, TOPIC, per_second=50)
    consumer = GoConsumer(namesrv_addr, TOPIC)
    with together(producer, consumer):
        consumer.wait_assigned(2 * QUEUES)
        producer.go()
        for (leave, come), name in zip(brokers, ("broker-b", "broker-a"), strict=True):
            producer.wait_for(acked_by(producer, BOTH), "sends to both", 2 * HEARTBEAT_S)
            leave()
            time.sleep(0.2)  # what it acknowledged before comes out of the client
            alone = len(producer.acks)
            # A send that was under way is waited for until its time is up, 3 s.
            producer.wait_for(acked(producer, alone + 50), "50 sends")
            seen.append(f"without {name}: {sorted({a.broker for a in producer.acks[alone:]})}")
            come()
            producer.wait_for(acked_by(producer, BOTH), "sends to both", 2 * HEARTBEAT_S)
        producer.stop()
        ids = {ack.id for ack in producer.acks}
        wait_received(consumer, ids, 3 * HEARTBEAT_S)
        seen.append(f"failures: {producer.failures}")
        seen.append(f"acknowledged once each: {len(ids) == len(producer.acks)}")
        seen.append(f"statuses: {sorted({ack.status for ack in producer.acks})}")
    return seen


def acked(producer: GoProducer, count: int) -> Callable[[], bool]:
    """Whether so many sends are acknowledged."""
    return lambda: len(producer.acks) >= count


def acked_by(producer: GoProducer, brokers: set[str]) -> Callable[[], bool]:
    """Whether all of them have acknowledged something from now on."""
    begin = len(producer.acks)
    return lambda: {ack.broker for ack in producer.acks[begin:]} == brokers


@pytest.mark.parametrize("scenario", SCENARIOS[::-1])
def test_go_client_sees_the_same(observed: Observed, scenario: str) -> None:
    on_real, on_fake = observed[scenario]
    expected = on_real.result()
    assert expected, "the scenario said nothing"
    assert on_fake.result() == expected
