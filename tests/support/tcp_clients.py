"""Requests of clients to a running cluster, over TCP."""

from __future__ import annotations

import json
from typing import Any

import fakemq
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import send_header
from tests.support.clients import consumer_data
from tests.support.tcp import TcpPeer

SEND = RequestCode.SEND_MESSAGE_V2


def send(peer: TcpPeer, body: bytes = b"one", **fields: Any) -> int:
    """Send a message to ``orders``; return the opaque of the request."""
    return peer.send(SEND, send_header(**fields), body)


def status_of(peer: TcpPeer, body: bytes = b"one", **fields: Any) -> int:
    """Send a message to ``orders`` and return the code of the response."""
    return peer.receive(send(peer, body, **fields)).code


def bodies(mq: fakemq.Cluster) -> list[bytes]:
    """Return the bodies of all messages of ``orders``."""
    return [message.body for message in mq.messages("orders")]


def beat(peer: TcpPeer, client_id: str, *groups: str, produces: str = "") -> None:
    """Send the heartbeat of a consumer in ``groups`` that produces for the group ``produces``."""
    body = {
        "clientID": client_id,
        "consumerDataSet": [consumer_data(group) for group in groups],
        "producerDataSet": [{"groupName": produces}] if produces else [],
    }
    assert peer.ask(RequestCode.HEART_BEAT, body=json.dumps(body).encode()).code == 0
