"""BATCH_ACK_MESSAGE: what is refused, and what is left out."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.peer import Peer
from tests.support.pops import GROUP, TOPIC, Popped, batch_ack, pop, send


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


def test_batch_without_acknowledgements_is_refused(peer: Peer) -> None:
    for body in (b"", b"null", b"{}", b'{"acks":[]}'):
        answer = peer.ask(RequestCode5.BATCH_ACK_MESSAGE, body=body)
        assert (answer.code, answer.remark) == (208, None)


def test_batch_ignores_offsets_without_a_message(peer: Peer) -> None:
    body = (
        b'{"acks":[{"c":"workers","t":"orders","r":"0","so":0,"q":0,"rq":0,"pt":1,"it":1,'
        b'"b":"/////w=="}]}'
    )
    assert peer.ask(RequestCode5.BATCH_ACK_MESSAGE, body=body).code == 0


def test_batch_in_order_commits(broker: Broker, peer: Peer) -> None:
    send(peer, b"a")
    send(peer, b"b")
    popped = Popped(pop(peer, order=True, queue_id=0))
    assert batch_ack(peer, popped, popped.messages).code == 0
    assert broker.offsets.query(GROUP, TOPIC, 0) == 2
