"""GET_ALL_MESSAGE_REQUEST_MODE: the modes that were set."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.peer import Peer
from tests.support.pops import TOPIC, set_mode


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


def test_modes_are_returned_as_java_writes_them(peer: Peer) -> None:
    set_mode(peer)
    assert bytes(peer.ask(RequestCode5.GET_ALL_MESSAGE_REQUEST_MODE).body) == (
        b'{"messageRequestModeMap":{"orders":{"workers":{"consumerGroup":"workers","mode":"POP",'
        b'"popShareQueueNum":0,"topic":"orders"}}}}'
    )
