"""The unchanged Go client sees on fakemq what it sees on the real cluster."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

import fakemq
from conformance.drivers.go_program import SCENARIOS, GoConsumer, GoProducer, binary, observe
from conformance.live.groups import CROWDED
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.processes import assert_same, assert_same_twice, go_and_come
from conformance.targets.quick_pair import QuickPair

# Seconds, not milliseconds: the client's own timers make single scenarios last up to 90 s, so all
# run side by side; the first test waits for two masters too, and maybe for a build.
pytestmark = [pytest.mark.slow, CROWDED]

AT_ONCE = 10
"""Scenarios under way on each cluster. Most of them wait most of the time."""
TOPIC, QUEUES = "Brokers", 2

Observed = dict[str, tuple[Future[list[str]], Future[list[str]]]]


@pytest.fixture(scope="module")
def observed(go: None, quick_pair: QuickPair, request: pytest.FixtureRequest) -> Iterator[Observed]:
    """What the scenarios of this session observe on the real cluster and on the fake."""
    calls = [getattr(item, "callspec", None) for item in request.session.items]
    params = [call.params.get("scenario") for call in calls if call is not None]
    wanted = {scenario for scenario in params if isinstance(scenario, str)}  # others have objects
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
def test_go_clients_survive_the_restart_of_each_broker(observed: Observed) -> None:
    assert_same_twice(restarts_seen, restarts_seen)


def restarts_seen() -> tuple[list[str], list[str]]:
    """Return what Go clients see of restarts on a real cluster, and on a fake one."""
    with (
        JavaCluster(masters=2, topics={TOPIC: QUEUES}) as real,
        fakemq.Cluster(masters=2, topics={TOPIC: QUEUES}) as fake,
        ThreadPoolExecutor(2) as both,
    ):
        a, b = real.brokers
        on_real = both.submit(
            go_and_come, *clients(real.namesrv_addr), [(b.stop, b.start), (a.kill, a.start)]
        )
        one, other = fake.broker("broker-a"), fake.broker("broker-b")
        on_fake = both.submit(
            go_and_come,
            *clients(fake.namesrv_addr),
            [(other.stop, other.restart), (one.kill, one.restart)],
        )
        return on_real.result(), on_fake.result()


def clients(namesrv_addr: str) -> tuple[GoProducer, GoConsumer]:
    return GoProducer(namesrv_addr, TOPIC, per_second=50), GoConsumer(namesrv_addr, TOPIC)


@pytest.mark.parametrize("scenario", SCENARIOS[::-1])
def test_go_client_sees_the_same(observed: Observed, quick_pair: QuickPair, scenario: str) -> None:
    on_real, on_fake = observed[scenario]
    assert_same(
        on_real.result,
        on_fake.result,
        lambda: observe(quick_pair.real.namesrv_addr, scenario),
        lambda: observe(quick_pair.fake.namesrv_addr, scenario),
    )
