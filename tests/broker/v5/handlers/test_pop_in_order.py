"""POP_MESSAGE in order: a queue is blocked while its messages are out."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer
from tests.support.pops import INVISIBLE_MS, TOPIC, Popped, ack, change, long_pop, pop, send


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


def test_end_of_an_order_lock_wakes_a_held_pop(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    pop(peer, order=True, queue_id=0)
    answer = long_pop(peer, order=True, queue_id=0)
    lab.pass_time(INVISIBLE_MS - 1)
    assert not answer.over
    lab.pass_time(1)
    assert answer.response is not None
    assert Popped(answer.response).bodies == [b"hello"]


def test_changed_time_in_order_keeps_the_pop(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    popped = Popped(pop(peer, order=True, queue_id=0))
    lab.pass_time(4_000)
    answer = change(peer, popped, popped.messages[0], 20_000)
    assert answer.ext_fields["popTime"] == popped.answer.ext_fields["popTime"]
    assert answer.ext_fields["invisibleTime"] == "24000"
    lab.pass_time(19_999)
    assert pop(peer, order=True, queue_id=0).code == 210
    lab.pass_time(1)
    assert Popped(pop(peer, order=True, queue_id=0)).bodies == [b"hello"]


def test_acknowledgement_of_what_is_not_out_is_illegal(peer: Peer) -> None:
    send(peer, b"a")
    send(peer, b"b")
    popped = Popped(pop(peer, order=True, queue_id=0, max_msg_nums=1))
    assert ack(peer, popped, popped.messages[0], offset=1).code == 13
