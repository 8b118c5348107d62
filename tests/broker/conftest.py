"""A broker at its addresses, a client of it, and a producer's send."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from tests.support.broker_lab import BrokerLab, Send, send_header
from tests.support.peer import Peer


@pytest.fixture
def lab() -> BrokerLab:
    return BrokerLab()


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    return lab.broker()


@pytest.fixture
def peer(lab: BrokerLab, broker: Broker) -> Peer:
    """A client at the broker's main port."""
    return lab.peer(broker.addr)


@pytest.fixture
def send(peer: Peer) -> Send:
    """Send one message as a producer does; fields of the header by keyword."""

    def do(
        body: bytes = b"hello", topic: str = "orders", **fields: str | int | bool
    ) -> RemotingCommand:
        return peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(topic, **fields), body)

    return do
