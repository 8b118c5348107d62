"""How many queues the revive topic has, when reviveQueueNum changes while a broker runs."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.v5.model import BrokerConfig5
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.pops import INVISIBLE_MS, TOPIC, Popped, ack, pop, send

REVIVE_TOPIC = "rmq_sys_REVIVE_LOG_DefaultCluster"
LONG_MS = INVISIBLE_MS + 10_000


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    broker = lab.broker(BrokerConfig5(revive_queue_num=2), reference=REFERENCE)
    broker.create_topic(TOPIC, 1)
    return broker


def records(broker: Broker, queue_id: int) -> int:
    return broker.store.max_offset_in_queue(REVIVE_TOPIC, queue_id)


def test_acknowledgement_for_a_queue_of_the_start_counts(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    pops = []
    for _ in range(2):
        send(peer)
        pops.append(Popped(pop(peer)))
    assert (records(broker, 0), records(broker, 1)) == (1, 1)
    broker5(broker).pop.config.revive_queue_num = 1
    for popped in pops:
        assert ack(peer, popped, popped.messages[0]).code == 0
    assert (records(broker, 0), records(broker, 1)) == (2, 2)
    lab.pass_time(LONG_MS)
    assert pop(peer).code == 210  # nothing is revived


def test_queue_that_is_new_is_read_from_the_next_start_on(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    broker5(broker).pop.config.revive_queue_num = 3
    for body in (b"0", b"1", b"2"):
        send(peer, body)
        pop(peer)
    assert records(broker, 2) == 1
    lab.pass_time(LONG_MS)
    assert sorted(Popped(pop(peer)).bodies) == [b"0", b"1"]
    broker.stop()
    lab.network.settle()
    broker.start()
    lab.pass_time(LONG_MS)
    assert b"2" in Popped(pop(lab.peer(broker.addr, "later"))).bodies
