"""HEART_BEAT: the groups and subscriptions that a broker takes from it."""

from __future__ import annotations

import json

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import HandlerFailed
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import VERSION_4_9_7
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, beat, consume, consumer_data
from tests.support.peer import Peer

RETRY = f"%RETRY%{GROUP}"


def test_answer_carries_the_version_that_clients_store(peer: Peer) -> None:
    response = consume(peer)
    assert response.code == ResponseCode.SUCCESS
    assert response.remark is None
    assert response.version == VERSION_4_9_7 == 407
    assert response.body == b""


def test_heartbeat_creates_the_group_and_its_retry_topic(broker: Broker, peer: Peer) -> None:
    consume(peer)
    assert GROUP in broker.groups.snapshot()
    config = broker.topics.select(RETRY)
    assert config is not None
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (1, 1, 6)
    assert config.topic_sys_flag == 0


def test_retry_topic_has_the_groups_number_of_queues(broker: Broker, peer: Peer) -> None:
    broker.groups.update(SubscriptionGroupConfig(group_name=GROUP, retry_queue_nums=3))
    consume(peer)
    config = broker.topics.select(RETRY)
    assert config is not None
    assert config.write_queue_nums == 3


def test_unit_mode_marks_the_retry_topic(broker: Broker, peer: Peer) -> None:
    beat(peer, consumers=[consumer_data(unitMode=True)])
    config = broker.topics.select(RETRY)
    assert config is not None
    assert config.topic_sys_flag == 2


def test_members_are_registered_when_groups_are_not_created(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(auto_create_subscription_group=False))
    assert consume(lab.peer(broker.addr)).code == 0
    assert broker.topics.select(RETRY) is None
    assert GROUP in broker.consumers.snapshot()


def test_heartbeat_registers_producers_and_consumers(broker: Broker, peer: Peer) -> None:
    beat(peer, consumers=[consumer_data("a"), consumer_data("b")], producers=["p"])
    assert set(broker.consumers.snapshot()) == {"a", "b"}
    assert set(broker.producers.snapshot()) == {"p"}


def test_fields_of_later_clients_are_ignored(peer: Peer) -> None:
    body = {"clientID": "5.x", "heartbeatFingerprint": 0, "withoutSub": False}
    assert peer.ask(RequestCode.HEART_BEAT, body=json.dumps(body).encode()).code == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{{{",
        b"\xff\xfe",
        b'{"producerDataSet":[{"groupName":"g"}]}',
        b'{"clientID":"c","consumerDataSet":[{}]}',
        b'{"clientID":"c","producerDataSet":[{}]}',
        b'{"clientID":"c","consumerDataSet":[{"groupName":"g","subscriptionDataSet":[{}]}]}',
        b'{"clientID":"c","consumerDataSet":7}',
    ],
)
def test_invalid_body_is_answered_with_code_1(
    lab: BrokerLab, broker: Broker, peer: Peer, body: bytes
) -> None:
    assert peer.ask(RequestCode.HEART_BEAT, body=body).code == ResponseCode.SYSTEM_ERROR
    assert lab.journal.find(HandlerFailed) == []
    assert consume(peer).code == 0


@pytest.mark.parametrize("body", [b"{}", b'{"clientID":null}', b'{"consumerDataSet":[]}'])
def test_client_without_groups_needs_no_client_id(peer: Peer, body: bytes) -> None:
    assert peer.ask(RequestCode.HEART_BEAT, body=body).code == ResponseCode.SUCCESS
