"""GET_SUBSCRIPTIONGROUP_CONFIG (352)."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.peer import Peer


def test_unknown_group_is_created_and_returned(broker: Broker, peer: Peer) -> None:
    answer = peer.ask(RequestCode5.GET_SUBSCRIPTIONGROUP_CONFIG, ext_fields={"group": "G"})
    assert answer.code == ResponseCode.SUCCESS
    assert SubscriptionGroupConfig.decode(answer.body).group_name == "G"
    assert "G" in broker.groups.snapshot()


def test_unknown_group_is_refused_without_creation(broker: Broker, peer: Peer) -> None:
    broker.config.auto_create_subscription_group = False
    answer = peer.ask(RequestCode5.GET_SUBSCRIPTIONGROUP_CONFIG, ext_fields={"group": "G"})
    assert answer.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert answer.remark == "No group in this broker"
