"""UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: a group is created or changed as given."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import GroupChanged
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer

BODY = b'{"brokerId":0,"consumeEnable":false,"groupName":"g","retryMaxTimes":3,"unknown":1}'


def test_group_is_created_as_given(broker: Broker, peer: Peer) -> None:
    response = peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=BODY)
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    config = broker.groups.find("g")
    assert config is not None
    assert (config.consume_enable, config.retry_max_times) == (False, 3)
    assert config.retry_queue_nums == 1
    peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=BODY)
    assert [event.how for event in broker.journal.find(GroupChanged)] == ["created", "updated"]


def test_slave_refuses_and_names_its_master(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(broker_role="SLAVE", broker_id=1))
    peer = lab.peer(broker.addr)
    response = peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=BODY)
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert response.remark == (
        "Can't modify topic or subscription group from slave broker, "
        "please execute it from master broker."
    )


@pytest.mark.parametrize("body", [b"null", b"[]"])
def test_null_changes_nothing(broker: Broker, peer: Peer, body: bytes) -> None:
    before = broker.groups.snapshot()
    assert peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body).code == 0
    assert broker.groups.snapshot() == before


def test_group_without_a_name_is_a_null_pointer_exception(peer: Peer) -> None:
    response = peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=b"{}")
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert (response.remark or "").startswith("java.lang.NullPointerException: ")


def test_settings_that_only_5_5_0_knows_are_dropped(broker: Broker, peer: Peer) -> None:
    later = (
        b'{"groupName":"g","attributes":{"+priority.factor":"5"},"consumeMessageOrderly":true,'
        b'"consumeTimeoutMinute":15,"groupRetryPolicy":{"type":"CUSTOMIZED"},"groupSysFlag":1,'
        b'"subscriptionDataSet":[]}'
    )
    peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=later)
    assert broker.groups.find("g") == SubscriptionGroupConfig(group_name="g")
