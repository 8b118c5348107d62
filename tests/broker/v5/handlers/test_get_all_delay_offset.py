"""GET_ALL_DELAY_OFFSET (45): levels that wait, and a data version."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import send_header
from tests.support.clients import TOPIC
from tests.support.peer import Peer


def test_level_that_waits_has_an_offset(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 1)
    body = peer.ask(RequestCode.GET_ALL_DELAY_OFFSET).body
    assert json.loads(body)["offsetTable"] == {}
    header = send_header(TOPIC, properties="DELAY\x013")
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"x").code == 0
    body = peer.ask(RequestCode.GET_ALL_DELAY_OFFSET).body
    assert b'"offsetTable":{3:0}' in body
    assert b'"dataVersion":{"counter":0,"stateVersion":0,"timestamp":' in body
