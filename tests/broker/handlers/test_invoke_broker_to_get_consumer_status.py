"""INVOKE_BROKER_TO_GET_CONSUMER_STATUS: members asked in turn; answers as a real broker's."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, TOPIC, beat, consume, consumer_data
from tests.support.peer import Answer, Peer

CODE = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
STATUS = b'{"messageQueueTable":{{"brokerName":"broker-a","queueId":1,"topic":"orders"}:7}}'


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    return lab.broker()


@pytest.fixture
def members(lab: BrokerLab, broker: Broker) -> list[Peer]:
    peers = [lab.outside_peer(broker, name) for name in ("first", "second")]
    for peer in peers:
        consume(peer, peer.name)
    for peer in peers:
        peer.requests.clear()
    return peers


def ask(peer: Peer, **more: str) -> Answer:
    fields = {"topic": TOPIC, "group": GROUP} | more
    return peer.send(CODE, ext_fields=fields, timeout_ms=10**9)


def body(answer: Answer) -> str:
    assert answer.response is not None
    assert answer.response.code == 0
    assert answer.response.remark == "not set any response code"
    return answer.response.body.decode()


@pytest.mark.parametrize(("code", "text"), [(1, STATUS), (0, b"no JSON"), (0, b"")])
def test_member_with_an_invalid_answer_is_omitted(
    peer: Peer, members: list[Peer], code: int, text: bytes
) -> None:
    answer = ask(peer, clientAddr="first")
    members[0].answer(code, text)
    assert body(answer) == '{"consumerTable":{},"messageQueueTable":{}}'


def test_each_member_has_5_s(lab: BrokerLab, peer: Peer, members: list[Peer]) -> None:
    first, second = members
    answer = ask(peer)
    lab.outside_time_passes(4_999)
    assert second.requests == []
    lab.outside_time_passes(1)
    assert len(second.requests) == 1
    second.close()
    lab.outside_time_passes(5_000)
    assert body(answer) == '{"consumerTable":{},"messageQueueTable":{}}'
    assert len(first.requests) == 2, "the question, and the news of the other's end"


def test_client_before_3_0_7_fails_the_request(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    beat(lab.outside_peer(broker), "old", consumers=[consumer_data()], version=20)
    response = ask(peer, clientAddr="else").response
    assert response is not None
    assert (response.code, response.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "the client does not support this feature. version=V3_0_3_SNAPSHOT",
    )


def test_unknown_version_number_is_named_as_in_java(
    lab: BrokerLab, broker: Broker, peer: Peer, members: list[Peer]
) -> None:
    beat(lab.outside_peer(broker), "old", consumers=[consumer_data()], version=-1)
    for member in members:
        member.requests.clear()
    answer = ask(peer)
    for member in members:
        member.answer(0, STATUS)
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SYSTEM_ERROR
    assert answer.response.remark == (
        "java.lang.ArrayIndexOutOfBoundsException: Index -1 out of bounds for length 613,"
        " org.apache.rocketmq.common.MQVersion.getVersionDesc(MQVersion.java:29)"
    )
