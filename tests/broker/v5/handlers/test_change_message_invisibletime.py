"""CHANGE_MESSAGE_INVISIBLETIME: when a message comes that a consumer wants later, or sooner."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.v5.pop.revive import LAG_MS
from fakemq.protocol.bodies.pop import ConsumerOrderInfoTable
from fakemq.protocol.java import LONG_MAX
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.peer import Peer
from tests.support.pops import GROUP, INVISIBLE_MS, TOPIC, Popped, change, pop, send

REVIVED_MS = INVISIBLE_MS + LAG_MS
"""When a message that was not acknowledged is in its retry topic, after the pop."""


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


def test_changed_time_counts_from_the_change(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    popped = Popped(pop(peer))
    lab.pass_time(5_000)
    answer = change(peer, popped, popped.messages[0], 30_000)
    assert answer.code == 0
    assert answer.ext_fields["invisibleTime"] == "30000"
    lab.pass_time(30_000 + LAG_MS - 1)
    assert pop(peer).code == 210
    lab.pass_time(1)
    assert Popped(pop(peer)).bodies == [b"hello"]


def test_message_that_a_consumer_returns_comes_soon(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    popped = Popped(pop(peer, invisible_time=3_600_000))
    lab.pass_time(1)
    change(peer, popped, popped.messages[0], 1_000, suspend=True)
    lab.pass_time(1_000 + LAG_MS)
    (message,) = Popped(pop(peer)).messages
    assert message.reconsume_times == 0  # suspended: the attempt does not count


def test_change_in_the_moment_of_the_pop_loses_nothing(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    popped = Popped(pop(peer))
    answer = change(peer, popped, popped.messages[0], 20_000)
    assert int(answer.ext_fields["popTime"]) == int(popped.answer.ext_fields["popTime"]) + 1
    lab.pass_time(REVIVED_MS)
    assert pop(peer).code == 210
    lab.pass_time(10_001)
    assert Popped(pop(peer)).bodies == [b"hello"]


def test_time_beyond_that_of_timers_is_refused(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    popped = Popped(pop(peer))
    lab.pass_time(1)
    longest_ms = 3 * 24 * 3_600_000 + 1_000  # timerMaxDelaySec, and a second for acknowledgements
    assert change(peer, popped, popped.messages[0], longest_ms + 1).code == 1
    lab.pass_time(REVIVED_MS)
    (again,) = (later := Popped(pop(peer))).messages  # the time of its pop still counts
    lab.pass_time(1)
    assert change(peer, later, again, longest_ms).code == 0


def test_longest_time_stays_a_long_in_the_file(broker: Broker, peer: Peer) -> None:
    send(peer)
    popped = Popped(pop(peer, order=True, queue_id=0))
    assert change(peer, popped, popped.messages[0], LONG_MAX).code == 0
    text = broker5(broker).pop.order.persisted().encode()
    assert ConsumerOrderInfoTable.decode(text).table[f"{TOPIC}@{GROUP}"][0].offset_list == [0]
