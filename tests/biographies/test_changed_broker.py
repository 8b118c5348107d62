"""Biographies and diagnoses after a peer has changed a running broker's name or role."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from fakemq.protocol.codes import RequestCode
from tests.support.tcp import TcpPeer


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        clock="frozen", start_at="2024-02-29T12:00:00Z", slaves=1, topics={"orders": 1}
    ) as cluster:
        yield cluster


def update(mq: fakemq.Cluster, text: str) -> None:
    with TcpPeer(mq.broker("broker-a-0").addr) as peer:
        assert peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=text.encode()).code == 0


def delay(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"late"], properties={"DELAY": "9"})
    mq.clock.advance("1s")  # the slave has it


@pytest.mark.parametrize("change", ["brokerName=renamed", "brokerRole=SLAVE"])
def test_diagnosis_says_that_a_delayed_message_has_no_master(
    mq: fakemq.Cluster, change: str
) -> None:
    delay(mq)
    update(mq, change)
    waits = "b'late' of orders: waits at delay level 9, due in 4m 59s at 12:05:00.000; "
    assert waits + "no broker is master of broker-a" in mq.diagnosis()


def test_biography_shows_the_same_after_a_rename(mq: fakemq.Cluster) -> None:
    (message,) = mq.seed("orders", [b"one"])
    before = list(message.biography)
    update(mq, "brokerName=renamed\nbrokerPermission=6\n")
    found = next(one for one in mq.messages("orders") if one.broker == "renamed")
    # The slave still belongs to the master's former name.
    assert list(found.biography) == [step for step in before if step.node == "broker-a-0"]
    again = mq.seed("orders", [b"two"])[0]
    assert again.broker == "renamed"
    assert "stored in orders broker-a-0" in str(again.biography)


def test_message_of_a_former_name_is_to_be_looked_up_again(mq: fakemq.Cluster) -> None:
    (message,) = mq.seed("orders", [b"one"])
    update(mq, "brokerName=renamed")
    why = "no broker is master of broker-a any longer: look the message up again"
    assert why in str(message.biography)
    assert "stored in orders" in str(mq.messages("orders")[0].biography)


def test_reset_brings_a_brokers_name_back(mq: fakemq.Cluster) -> None:
    update(mq, "brokerName=renamed\nbrokerPermission=6\n")
    assert {queue.broker for queue in mq.queues("orders")} == {"renamed", "broker-a"}
    mq.reset()
    assert mq.broker("broker-a").name == "broker-a-0"
