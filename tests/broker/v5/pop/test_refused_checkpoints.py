"""A store that refuses a checkpoint: its messages are out, and come again nevertheless."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.v5.pop.revive import LAG_MS
from fakemq.broker.v5.pop.revive_log import RETRY_MS
from fakemq.events.pop import Acknowledged
from fakemq.faults.plan import ALWAYS, Scope
from fakemq.faults.points import DISK_FULL
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.peer import Peer
from tests.support.pops import GROUP, INVISIBLE_MS, TOPIC, Popped, ack, pop, send

REVIVED_MS = INVISIBLE_MS + LAG_MS


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    broker = lab.broker(reference=REFERENCE)
    broker.create_topic(TOPIC, 2)
    return broker


def fill(broker: Broker) -> None:
    """Let the store refuse every put."""
    fault = broker.node.faults.place(DISK_FULL, None, "full", Scope(node=broker.name), ALWAYS)
    broker.store.disk_space.fill(fault)


def empty(broker: Broker) -> None:
    broker.store.disk_space.fill(None)


def committed(broker: Broker) -> int:
    return broker.offsets.query(GROUP, TOPIC, 0)


def test_refused_checkpoint_is_stored_when_the_store_takes_it(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    send(peer)
    fill(broker)
    assert Popped(pop(peer)).bodies == [b"hello"]
    assert committed(broker) == 0
    lab.pass_time(3 * RETRY_MS)
    empty(broker)
    assert len(broker5(broker).pop.log.refused) == 1
    lab.pass_time(RETRY_MS)
    assert broker5(broker).pop.log.refused == []
    assert committed(broker) == 1
    lab.pass_time(REVIVED_MS)
    again = Popped(pop(peer))
    assert [(one.body, one.reconsume_times) for one in again.messages] == [(b"hello", 1)]


def test_refused_checkpoints_are_stored_before_any_other_record(broker: Broker, peer: Peer) -> None:
    for body in (b"a", b"b"):
        send(peer, body)
    fill(broker)
    popped = [Popped(pop(peer, max_msg_nums=1)) for _ in range(2)]
    empty(broker)
    for one in popped:
        ack(peer, one, one.messages[0])
    pops = broker5(broker).pop
    assert pops.log.refused == []
    assert [*pops.revive.waiting()] == []
    assert committed(broker) == 2


def test_reset_forgets_what_is_not_committed(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    for body in (b"a", b"b"):
        send(peer, body)
    fill(broker)
    pop(peer, max_msg_nums=1)
    broker5(broker).pop.resets.assign(TOPIC, GROUP, 0, 1)
    empty(broker)
    assert Popped(pop(peer)).bodies == [b"b"]
    lab.pass_time(RETRY_MS)
    assert committed(broker) == 2


def test_message_that_cannot_be_revived_waits_with_its_checkpoint(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    send(peer)
    pop(peer)
    fill(broker)
    lab.pass_time(REVIVED_MS)
    (refused,) = broker5(broker).pop.log.refused
    assert refused.re_put_times == "1"
    empty(broker)
    lab.pass_time(RETRY_MS)
    assert broker5(broker).pop.log.refused == []
    lab.pass_time(60_000)
    assert Popped(pop(peer)).bodies == [b"hello"]


def test_refused_acknowledgement_is_none(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    send(peer)
    popped = Popped(pop(peer))
    fill(broker)
    assert ack(peer, popped, popped.messages[0]).code == 0
    empty(broker)
    assert broker.journal.find(Acknowledged) == []
    lab.pass_time(REVIVED_MS)
    assert Popped(pop(peer)).bodies == [b"hello"]


def test_stopped_broker_pops_again_what_it_could_not_note(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    send(peer)
    fill(broker)
    pop(peer)
    empty(broker)
    broker.kill()
    broker.start()
    assert Popped(pop(lab.peer(broker.addr, "again"))).bodies == [b"hello"]
    assert {timer.kind for timer in lab.clock.timers()}.isdisjoint({"disk_retry"})
