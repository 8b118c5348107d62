"""Refusals of a broker of 5.5.0: codes and hints that are data of the reference."""

from __future__ import annotations

import pytest

from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.v5.codes import ResponseCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.clients import pull_header
from tests.support.peer import Peer

FAQ = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."


@pytest.fixture
def peer() -> Peer:
    lab = BrokerLab()
    return lab.peer(lab.broker(reference=REFERENCE).addr)


def test_send_to_a_wrong_name_or_queue_is_an_invalid_parameter(peer: Peer) -> None:
    answer = peer.ask(RequestCode.SEND_MESSAGE_V2, send_header("no blanks"), b"x")
    assert answer.code == ResponseCode5.INVALID_PARAMETER
    answer = peer.ask(RequestCode.SEND_MESSAGE_V2, send_header("TBW102", queue_id=99), b"x")
    assert answer.code == ResponseCode5.INVALID_PARAMETER
    assert "topicSysFlag=0, order=false, attributes={}] Producer: " in str(answer.remark)


def test_pull_of_a_wrong_queue_is_an_invalid_parameter(peer: Peer) -> None:
    header = pull_header(topic="TBW102", queue_id=99)
    assert peer.ask(RequestCode.PULL_MESSAGE, header).code == ResponseCode5.INVALID_PARAMETER


def test_hint_leads_to_the_page_of_5_5_0(peer: Peer) -> None:
    answer = peer.ask(RequestCode.PULL_MESSAGE, pull_header(topic="none"))
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert answer.remark == f"topic[none] not exist, apply first please! {FAQ}"
