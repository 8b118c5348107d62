"""POP_MESSAGE: what is refused, in Java's words."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer
from tests.support.pops import GROUP, TOPIC, pop


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


def test_refused_pop_has_the_fields_of_an_empty_one(peer: Peer) -> None:
    answer = pop(peer, topic="unknown")
    assert answer.code == 17
    assert answer.remark is not None
    assert answer.remark.startswith("topic[unknown] not exist, apply first please! ")
    assert answer.ext_fields == {
        "popTime": "0",
        "invisibleTime": "0",
        "reviveQid": "0",
        "restNum": "0",
    }


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"max_msg_nums": 33}, 29), ({"queue_id": 2}, 29), ({"topic": "no"}, 17)],
)
def test_pop_of_what_is_not_there_is_refused(
    peer: Peer, fields: dict[str, str | int], code: int
) -> None:
    assert pop(peer, **fields).code == code


def test_pop_whose_client_waits_no_longer_is_refused(broker: Broker, peer: Peer) -> None:
    now_ms = broker.clock.now_ms()
    assert pop(peer, born_time=now_ms - 1_500, poll_time=999).code == 210
    answer = pop(peer, born_time=now_ms - 1_500, poll_time=999)
    assert answer.remark == (
        f"the broker[{broker.config.broker_ip1}] pop message is timeout too much"
    )


def test_pop_of_a_client_in_real_time_is_not_late(lab: BrokerLab, broker: Broker) -> None:
    born_ms = broker.clock.now_ms()
    lab.pass_time(3_600_000)  # of the cluster; no real time passes
    assert pop(lab.peer(broker.addr), born_time=born_ms).remark == "NO_MESSAGE_IN_QUEUE"


def test_pop_of_fewer_than_no_messages_is_code_1(peer: Peer) -> None:
    answer = pop(peer, max_msg_nums=-1)
    assert (answer.code, answer.ext_fields) == (1, {})
    assert answer.remark is not None
    assert answer.remark.startswith("java.lang.IllegalArgumentException: Illegal Capacity: -1")


def test_pop_of_a_group_that_may_not_consume_is_refused(broker: Broker, peer: Peer) -> None:
    broker.groups.update(SubscriptionGroupConfig(group_name=GROUP, consume_enable=False))
    assert pop(peer).code == 16


def test_pop_of_a_topic_that_is_not_readable_is_refused(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 2, perm=2)
    assert pop(peer).code == 16
