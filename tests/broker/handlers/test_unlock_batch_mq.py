"""UNLOCK_BATCH_MQ: always 0."""

from __future__ import annotations

import json

import pytest

from fakemq.broker.broker import Broker
from fakemq.events import HandlerFailed
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer
from tests.support.queue_locks import QUEUES, lock_body


@pytest.mark.parametrize("content", [b"", b"{}", b"nonsense"])
def test_invalid_body_is_answered_with_code_1(
    lab: BrokerLab, broker: Broker, peer: Peer, content: bytes
) -> None:
    assert peer.ask(RequestCode.UNLOCK_BATCH_MQ, body=content).code == 1
    assert lab.journal.find(HandlerFailed) == []


def test_client_without_an_id_unlocks_nothing(peer: Peer) -> None:
    peer.ask(RequestCode.LOCK_BATCH_MQ, body=lock_body("one", QUEUES))
    body = json.dumps({"consumerGroup": "g", "mqSet": QUEUES}).encode()
    assert peer.ask(RequestCode.UNLOCK_BATCH_MQ, body=body).code == 0
    response = peer.ask(RequestCode.LOCK_BATCH_MQ, body=lock_body("two", QUEUES))
    assert json.loads(response.body) == {"lockOKMQSet": []}
