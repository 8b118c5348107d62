"""Requests within a cluster without bytes: what becomes of those that have no answer."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.v5.model import BrokerConfig5
from fakemq.dispatch.answers import Reply
from fakemq.dispatch.faults import Drop
from fakemq.dispatch.local import LocalLink, LocalSession
from fakemq.faults.plan import ALWAYS, Scope
from fakemq.faults.points import BEFORE_REPLY, BEFORE_STORE
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab
from tests.support.pops import TOPIC, pop_header


class Asking:
    """A connection without bytes to a broker; ``answers`` has what came, None for no answer."""

    def __init__(self, broker: Broker) -> None:
        link = LocalLink(broker.addr, "127.0.0.1:50000", "proxy-0")
        self.session: LocalSession = broker.accept_local(link, lambda command, on_reply: None)
        self.answers: list[Reply[Any] | None] = []

    def pop(self, poll_time_ms: int = 0) -> int:
        header = pop_header(poll_time=poll_time_ms)
        command = RemotingCommand(RequestCode5.POP_MESSAGE, ext_fields=header.encode())
        return self.session.call(command, self.answers.append)

    @property
    def remembered(self) -> int:
        session = self.session
        return len(session._calls) + len(session._lost) + len(session._parked)


@pytest.fixture
def broker() -> Broker:
    broker = BrokerLab().broker(BrokerConfig5(), reference=REFERENCE)
    broker.create_topic(TOPIC, 1)
    return broker


@pytest.mark.parametrize("point", [BEFORE_STORE, BEFORE_REPLY], ids=["request", "answer"])
def test_given_up_request_whose_answer_is_lost_is_forgotten(broker: Broker, point: Any) -> None:
    asking = Asking(broker)
    broker.faults.place(point, Drop(), "lost", Scope(code=RequestCode5.POP_MESSAGE), ALWAYS)
    for opaque in [asking.pop() for _ in range(5)]:
        asking.session.abandon(opaque)
    assert asking.remembered == 0
    asking.session.give_up(asking.pop())
    assert asking.remembered == 0
    assert asking.answers == []


def test_given_up_request_that_is_held_is_forgotten(broker: Broker) -> None:
    asking = Asking(broker)
    asking.session.abandon(asking.pop(15_000))
    assert asking.remembered == 0
    asking.session.close("the end")
    assert asking.answers == []


def test_end_of_the_connection_ends_a_request_whose_answer_is_lost(broker: Broker) -> None:
    asking = Asking(broker)
    broker.faults.place(BEFORE_REPLY, Drop(), "lost", Scope(code=RequestCode5.POP_MESSAGE), ALWAYS)
    asking.pop()
    assert asking.answers == []
    asking.session.close("the end")
    assert asking.answers == [None]
    assert asking.remembered == 0
