"""POP_MESSAGE in order: a queue is blocked while its messages are out."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer
from tests.support.pops import GROUP, INVISIBLE_MS, TOPIC, Popped, ack, change, long_pop, pop, send


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


def test_order_blocks_the_queue_until_all_is_acknowledged(peer: Peer, broker: Broker) -> None:
    for body in (b"a", b"b", b"c"):
        send(peer, body)
    popped = Popped(pop(peer, order=True, queue_id=0, max_msg_nums=2))
    assert popped.bodies == [b"a", b"b"]
    assert popped.answer.ext_fields["reviveQid"] == "999"
    assert popped.answer.ext_fields["orderCountInfo"] == "0 0 0"
    assert pop(peer, order=True, queue_id=0).code == 210
    ack(peer, popped, popped.messages[0])
    assert broker.offsets.query(GROUP, TOPIC, 0) == 1
    assert pop(peer, order=True, queue_id=0).code == 210
    ack(peer, popped, popped.messages[1])
    assert Popped(pop(peer, order=True, queue_id=0)).bodies == [b"c"]


def test_order_begins_again_at_the_first_message_not_acknowledged(
    lab: BrokerLab, peer: Peer
) -> None:
    for body in (b"a", b"b"):
        send(peer, body)
    popped = Popped(pop(peer, order=True, queue_id=0))
    ack(peer, popped, popped.messages[0])
    lab.pass_time(INVISIBLE_MS)
    again = Popped(pop(peer, order=True, queue_id=0))
    assert again.bodies == [b"b"]
    assert again.answer.ext_fields["orderCountInfo"] == "0 qo0%1 1;0 0 1"


def test_same_attempt_gets_the_same_messages(peer: Peer) -> None:
    send(peer)
    for _ in range(2):
        popped = Popped(pop(peer, order=True, queue_id=0, attempt_id="one"))
        assert popped.bodies == [b"hello"]
    assert popped.answer.ext_fields["orderCountInfo"] == "0 0 0"
    assert pop(peer, order=True, queue_id=0, attempt_id="two").code == 210


def test_end_of_an_order_lock_wakes_a_held_pop(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    pop(peer, order=True, queue_id=0)
    answer = long_pop(peer, order=True, queue_id=0)
    lab.pass_time(INVISIBLE_MS - 1)
    assert not answer.over
    lab.pass_time(1)
    assert answer.response is not None
    assert Popped(answer.response).bodies == [b"hello"]


def test_acknowledgement_in_order_wakes_a_held_pop(peer: Peer) -> None:
    send(peer, b"a")
    send(peer, b"b")
    popped = Popped(pop(peer, order=True, queue_id=0, max_msg_nums=1))
    answer = long_pop(peer, order=True, queue_id=0)
    ack(peer, popped, popped.messages[0])
    assert answer.response is not None
    assert Popped(answer.response).bodies == [b"b"]


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
