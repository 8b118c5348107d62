"""A broker at its addresses, a client of it, and a producer's send."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from tests.support.peer import Peer
from tests.support.world import Send, World, send_header


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def broker(world: World) -> Broker:
    return world.broker()


@pytest.fixture
def peer(world: World, broker: Broker) -> Peer:
    """A client at the broker's main port."""
    return world.peer(broker.addr)


@pytest.fixture
def send(peer: Peer) -> Send:
    """Send one message as a producer does; fields of the header by keyword."""

    def do(
        body: bytes = b"hello", topic: str = "orders", **fields: str | int | bool
    ) -> RemotingCommand:
        return peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(topic, **fields), body)

    return do
