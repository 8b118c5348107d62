"""CONSUMER_SEND_MSG_BACK (36): a master takes a message back, a slave refuses it."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.config.v5.model import BrokerConfig5
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.peer import Peer


def header(broker: Broker) -> ConsumerSendMsgBackRequestHeader:
    return ConsumerSendMsgBackRequestHeader(
        offset=broker.store.min_phy_offset, group="workers", delay_level=3
    )


def test_master_delays_the_message(broker: Broker, peer: Peer) -> None:
    broker.create_topic("orders", 1)
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, send_header("orders"), b"hello").code == 0
    assert peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header(broker)).code == 0
    assert broker.store.max_offset_in_queue("SCHEDULE_TOPIC_XXXX", 2) == 1


def test_slave_refuses(lab: BrokerLab) -> None:
    slave = lab.broker(BrokerConfig5(broker_role="SLAVE", broker_id=1), reference=REFERENCE)
    answer = lab.peer(slave.addr).ask(RequestCode.CONSUMER_SEND_MSG_BACK, header(slave))
    assert answer.code == 2
