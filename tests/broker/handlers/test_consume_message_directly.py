"""CONSUME_MESSAGE_DIRECTLY: which message reaches the consumer, and how."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.events import HandlerFailed
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.client import ConsumeMessageDirectlyResultRequestHeader
from fakemq.protocol.message import decode_record
from tests.support.broker_lab import BrokerLab, Send
from tests.support.clients import GROUP, consume
from tests.support.peer import Peer

CODE = RequestCode.CONSUME_MESSAGE_DIRECTLY


@pytest.fixture
def consumer(lab: BrokerLab, broker: Broker) -> Peer:
    peer = lab.peer(broker.addr, "consumer")
    consume(peer)
    peer.requests.clear()
    return peer


def header(message_id: str | None, **fields: str) -> ConsumeMessageDirectlyResultRequestHeader:
    header = ConsumeMessageDirectlyResultRequestHeader(
        consumer_group=GROUP, client_id="client-1", msg_id=message_id
    )
    vars(header).update(fields)
    return header


def test_consumer_receives_the_record_and_the_broker_name(
    peer: Peer, consumer: Peer, send: Send
) -> None:
    message_id = send(b"look").ext_fields["msgId"]
    answer = peer.send(CODE, header(message_id, broker_name="whatever"), b"not used")
    request = consumer.answer(0, b'{"order":false}')
    assert request.ext_fields == {
        "consumerGroup": GROUP,
        "clientId": "client-1",
        "msgId": message_id,
        "brokerName": "broker-a",
    }
    message = decode_record(request.body)
    assert (message.body, message.offset_msg_id) == (b"look", message_id)
    assert answer.response is not None
    assert answer.response.body == b'{"order":false}'


def test_message_is_found_by_the_offset_of_the_id_alone(
    peer: Peer, consumer: Peer, send: Send
) -> None:
    send(b"first")
    for anywhere in ("0" * 32, "0" * 56):
        peer.send(CODE, header(anywhere))
        assert decode_record(consumer.answer().body).body == b"first"


@pytest.mark.parametrize("message_id", [None, "", "abc", "Z" * 32, "0" * 24 + "0FFFFFFF"])
def test_request_fails_when_the_offset_has_no_message(
    broker: Broker, peer: Peer, consumer: Peer, send: Send, message_id: str | None
) -> None:
    send()
    response = peer.ask(CODE, header(message_id))
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert (response.remark or "").startswith("java.lang.NullPointerException")
    assert consumer.requests == []
    assert broker.journal.find(HandlerFailed) == []


def test_request_fails_when_the_consumer_is_offline(peer: Peer, send: Send) -> None:
    response = peer.ask(CODE, header(send().ext_fields["msgId"]))
    assert (response.code, response.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "The Consumer <billing> <client-1> not online",
    )
