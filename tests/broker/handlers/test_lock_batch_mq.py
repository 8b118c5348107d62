"""LOCK_BATCH_MQ, and UNLOCK_BATCH_MQ's counterpart beside it."""

from __future__ import annotations

import json

import pytest

from fakemq.broker.broker import Broker
from fakemq.events import HandlerFailed
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer
from tests.support.queue_locks import QUEUES, lock_body


def test_queue_that_is_asked_for_twice_is_listed_once(peer: Peer) -> None:
    response = peer.ask(RequestCode.LOCK_BATCH_MQ, body=lock_body("one", [*QUEUES, *QUEUES]))
    assert json.loads(response.body) == {"lockOKMQSet": QUEUES}


@pytest.mark.parametrize("queues", ["null", "[null]", '[""]', "[[],{}]"])
def test_queue_that_is_null_is_a_null_pointer(peer: Peer, queues: str) -> None:
    body = f'{{"clientId":"one","consumerGroup":"g","mqSet":{queues}}}'
    response = peer.ask(RequestCode.LOCK_BATCH_MQ, body=body.encode())
    assert (response.remark or "").startswith("java.lang.NullPointerException")


def test_extra_field_of_a_5_x_client_is_ignored(peer: Peer) -> None:
    content = json.loads(lock_body("one", QUEUES)) | {"onlyThisBroker": False}
    response = peer.ask(RequestCode.LOCK_BATCH_MQ, body=json.dumps(content).encode())
    assert json.loads(response.body) == {"lockOKMQSet": QUEUES}


@pytest.mark.parametrize("content", [b"", b"nonsense", b'{"mqSet":[{}]}'])
def test_invalid_body_is_answered_with_code_1(
    lab: BrokerLab, broker: Broker, peer: Peer, content: bytes
) -> None:
    assert peer.ask(RequestCode.LOCK_BATCH_MQ, body=content).code == 1
    assert lab.journal.find(HandlerFailed) == []
    assert broker.locks.snapshot() == {}


@pytest.mark.parametrize("content", [b"{}", b'{"consumerGroup":"g"}'])
def test_empty_request_locks_no_queue(peer: Peer, content: bytes) -> None:
    response = peer.ask(RequestCode.LOCK_BATCH_MQ, body=content)
    assert json.loads(response.body) == {"lockOKMQSet": []}
