"""SEND_REPLY_MESSAGE_V2 reaches its handler, at both ports; what it does is in test_reply.py."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import BrokerLab, send_header


@pytest.mark.parametrize("vip", [False, True])
def test_both_ports_serve_the_request(lab: BrokerLab, broker: Broker, vip: bool) -> None:
    peer = lab.peer(broker.vip_addr if vip else broker.addr)
    header = send_header("DefaultCluster_REPLY_TOPIC")
    answer = peer.ask(RequestCode.SEND_REPLY_MESSAGE_V2, header, b"x")
    assert answer.remark == "reply message properties[REPLY_TO_CLIENT] is null"
