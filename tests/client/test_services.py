"""What the members of one client share: its loops."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from fakemq.client.services import REBALANCE_MS
from fakemq.client.tasks import Task
from fakemq.protocol.bodies.heartbeat import ConsumerData
from tests.support.played_broker import PlayedBroker


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
