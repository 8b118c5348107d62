"""GET_CONSUMER_RUNNING_INFO, and with it how any request is relayed to a consumer."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import LanguageCode, RequestCode, ResponseCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.headers.client import GetConsumerRunningInfoRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, consume
from tests.support.peer import Answer, Peer

CODE = RequestCode.GET_CONSUMER_RUNNING_INFO


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    return lab.broker()


@pytest.fixture
def consumer(lab: BrokerLab, broker: Broker) -> Peer:
    """A member of the group, as one behind a socket."""
    peer = lab.outside_peer(broker, "consumer")
    consume(peer)
    peer.requests.clear()
    return peer


def header(client_id: str = "client-1", group: str = GROUP) -> GetConsumerRunningInfoRequestHeader:
    return GetConsumerRunningInfoRequestHeader(consumer_group=group, client_id=client_id)


def ask(peer: Peer, **fields: str) -> Answer:
    return peer.send(CODE, header(), b"the body", ext_fields=fields, timeout_ms=10**9)


def test_answer_is_relayed_unchanged(peer: Peer, consumer: Peer) -> None:
    answer = ask(peer)
    consumer.answer(
        99,
        b"{}",
        remark="what",
        ext_fields={"k": "v"},
        language=LanguageCode.GO,
        version=450,
        serialize_type=SerializeType.ROCKETMQ,
    )
    response = answer.response
    assert response is not None
    assert (response.code, response.remark, response.body) == (99, "what", b"{}")
    assert response.ext_fields == {"k": "v"}
    assert (response.language, response.version) == (LanguageCode.GO, 450)
    assert response.serialize_type == SerializeType.JSON, "the form of the caller"


def test_closed_client_times_out_after_10_s_too(lab: BrokerLab, peer: Peer, consumer: Peer) -> None:
    answer = ask(peer)
    lab.outside_time_passes(4_000)
    consumer.close()
    lab.outside_time_passes(5_999)
    assert not answer.over
    lab.outside_time_passes(1)
    assert answer.response is not None
    assert answer.response.code == ResponseCode.CONSUME_MSG_TIMEOUT


def test_late_answer_is_dropped(lab: BrokerLab, peer: Peer, consumer: Peer) -> None:
    answer = ask(peer)
    lab.outside_time_passes(10_000)
    consumer.answer(0, b"late")
    assert answer.response is not None
    assert answer.response.code == ResponseCode.CONSUME_MSG_TIMEOUT
