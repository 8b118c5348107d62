"""GET_BROKER_RUNTIME_INFO (28) at a broker of 5.5.0: what differs from 4.9.7."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.v5.model import BrokerConfig5
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.codes import RequestCode
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.clients import TOPIC, send
from tests.support.peer import Peer
from tests.support.pops import pop


def info(peer: Peer) -> dict[str, str]:
    return KVTable.decode(peer.ask(RequestCode.GET_BROKER_RUNTIME_INFO).body).table


def test_figures_have_the_names_of_5_5_0(peer: Peer) -> None:
    found = info(peer)
    assert found["brokerVersionDesc"] == "V5_5_0"
    assert "getTransferredTps" in found
    assert {"brokerVersion", "getTransferedTps"}.isdisjoint(found)
    assert (found["ackThreadPoolQueueSize"], found["ackThreadPoolQueueCapacity"]) == ("0", "100000")


def test_records_of_pops_are_no_messages_that_were_put(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 1)
    send(peer)
    assert pop(peer, topic=TOPIC).code == 0
    assert info(peer)["msgPutTotalTodayNow"] == "1"


def test_first_message_says_how_old_the_store_is(broker: Broker, peer: Peer) -> None:
    assert info(peer)["earliestMessageTimeStamp"] == "-1"
    broker.create_topic(TOPIC, 1)
    send(peer)
    assert info(peer)["earliestMessageTimeStamp"] == str(broker.clock.now_ms())


def test_timers_that_wait_are_counted(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 1)
    header = send_header(TOPIC, properties="TIMER_DELAY_SEC\x0160\x02")
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"later").code == 0
    assert info(peer)["timerCongestNum"] == "1"


@pytest.mark.parametrize(("role", "active"), [("ASYNC_MASTER", "true"), ("SLAVE", "false")])
def test_slave_is_not_active(lab: BrokerLab, role: str, active: str) -> None:
    config = BrokerConfig5(broker_role=role, broker_id=int(role == "SLAVE"))
    broker = lab.broker(config, reference=REFERENCE)
    assert info(lab.peer(broker.addr))["brokerActive"] == active
