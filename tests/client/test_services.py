"""What the members of one client share: its loops."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from fakemq.client.services import (
    REBALANCE_MS,
    REBALANCE_REST_MS,
    REBALANCES_AFTER_REST,
    REBALANCES_MOST,
)
from fakemq.client.tasks import Task
from fakemq.protocol.bodies.heartbeat import ConsumerData
from fakemq.protocol.codes import RequestCode
from tests.support.played_broker import PlayedBroker
from tests.support.push_lab import PushLab
from tests.support.scripted_operation import answer, route


class Member:
    """A consumer whose methods raise an error that none expects."""

    group = "g"

    def __init__(self) -> None:
        self.calls: list[str] = []

    def topics(self) -> Iterable[str]:
        return ()

    def consumer_data(self) -> ConsumerData:
        return ConsumerData(group_name=self.group)

    def rebalance(self) -> Task[None]:
        yield from ()
        self.calls.append("rebalance")
        raise ZeroDivisionError

    def persist_offsets(self) -> Task[None]:
        yield from ()
        self.calls.append("persist")
        raise ZeroDivisionError


def test_loops_continue_after_an_error_that_none_expects(caplog: pytest.LogCaptureFixture) -> None:
    broker, member = PlayedBroker(), Member()
    services = broker.services()
    services.register_consumer(member)
    services.start()
    broker.carrier.advance(3 * REBALANCE_MS)
    assert member.calls.count("rebalance") == 3
    assert member.calls.count("persist") > 3
    assert "the queues of g were not divided" in caplog.text
    assert "client_persist failed" in caplog.text


class Quiet(Member):
    """A consumer whose queues are divided without an error."""

    def rebalance(self) -> Task[None]:
        yield from ()
        self.calls.append("rebalance")

    def persist_offsets(self) -> Task[None]:
        yield from ()


def test_divisions_of_queues_that_brokers_ask_for_rest_after_many_in_a_row() -> None:
    broker, member = PlayedBroker(), Quiet()
    services = broker.services()
    services.register_consumer(member)
    services.start()

    def ask(times: int) -> int:
        """Say that members changed; return how many divisions there were since the start."""
        for _ in range(times):
            services.rebalance_soon()
            broker.carrier.settle()
        return len(member.calls)

    assert ask(REBALANCES_MOST) == REBALANCES_MOST, "each has its own at first"
    assert ask(1_000) == REBALANCES_MOST
    broker.carrier.advance(REBALANCE_REST_MS - 1)
    assert ask(1_000) == REBALANCES_MOST
    broker.carrier.advance(1)
    assert ask(0) == REBALANCES_MOST + 1, "one for the thousand of the rest"
    assert ask(1) == REBALANCES_MOST + 2, "the next ones are done at once again"
    assert ask(1_000) == REBALANCES_MOST + 1 + REBALANCES_AFTER_REST, "but fewer than at first"


def test_divisions_of_queues_are_counted_anew_after_a_quiet_interval() -> None:
    broker, member = PlayedBroker(), Quiet()
    services = broker.services()
    services.register_consumer(member)
    services.start()
    for number in range(1, 4):
        for _ in range(REBALANCES_MOST):
            services.rebalance_soon()
            broker.carrier.settle()
        assert len(member.calls) == number * (REBALANCES_MOST + 1) - 1
        broker.carrier.advance(REBALANCE_MS)
        assert len(member.calls) == number * (REBALANCES_MOST + 1)


def test_broker_that_left_the_routes_gets_no_heartbeat_any_more() -> None:
    broker, names = PlayedBroker(), ["a", "gone"]
    broker.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda call: answer(
        body=route(*names, queues=1)
    )
    broker.answers[RequestCode.HEART_BEAT] = lambda call: answer()
    lab = PushLab(broker).start()
    lab.advance(30_000)
    instance = lab.services.instance
    assert set(instance.broker_versions) == {"a:10911", "gone:10911"}
    names.pop()
    lab.advance(60_000)  # the next routes, and the next heartbeat behind them
    assert list(instance.routes.brokers) == ["a"]
    assert set(instance.broker_versions) == {"a:10911"}
    before = len(lab.carrier.calls)
    lab.advance(60_000)
    assert {call.addr for call in lab.carrier.calls[before:]} == {"a:10911", "ns:9876"}


def test_many_brokers_that_come_and_go_leave_nothing_behind() -> None:
    broker = PlayedBroker()
    numbers = iter(range(10_000))
    broker.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda call: answer(
        body=route(f"b{next(numbers)}", queues=1)
    )
    broker.answers[RequestCode.HEART_BEAT] = lambda call: answer()
    broker.answers[RequestCode.PULL_MESSAGE] = lambda call: answer(1)
    lab = PushLab(broker).start()
    lab.advance(600_000)
    assert next(numbers) > 200
    assert len(lab.services.instance.routes.brokers) < 20
    assert len(lab.services.instance.broker_versions) < 20
