"""POP_MESSAGE: what is refused, in Java's words."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer
from tests.support.pops import TOPIC, pop


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


def test_pop_of_a_client_in_real_time_is_not_late(lab: BrokerLab, broker: Broker) -> None:
    born_ms = broker.clock.now_ms()
    lab.pass_time(3_600_000)  # of the cluster; no real time passes
    assert pop(lab.peer(broker.addr), born_time=born_ms).remark == "NO_MESSAGE_IN_QUEUE"


def test_pop_of_fewer_than_no_messages_is_code_1(peer: Peer) -> None:
    answer = pop(peer, max_msg_nums=-1)
    assert (answer.code, answer.ext_fields) == (1, {})
    assert answer.remark is not None
    assert answer.remark.startswith("java.lang.IllegalArgumentException: Illegal Capacity: -1")
