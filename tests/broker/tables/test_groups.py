"""Subscription groups: defaults, automatic creation, deletion."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.tables.groups import BUILT_IN_GROUPS
from fakemq.config.model import BrokerConfig
from fakemq.events import GroupChanged
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from tests.support.broker_lab import BrokerLab


def test_new_broker_has_javas_system_groups(broker: Broker) -> None:
    assert tuple(broker.groups.snapshot()) == BUILT_IN_GROUPS
    assert broker.groups.data_version.counter == 0


def test_missing_group_is_created_on_look_up(broker: Broker) -> None:
    config = broker.groups.find("billing")
    assert config == SubscriptionGroupConfig(group_name="billing")
    assert broker.groups.find("billing") is config
    assert [event.group for event in broker.journal.find(GroupChanged)] == ["billing"]
    assert broker.groups.data_version.counter == 1


def test_only_system_groups_are_created_when_creation_is_disabled(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(auto_create_subscription_group=False))
    assert broker.groups.find("billing") is None
    assert broker.groups.find("CID_RMQ_SYS_TRANS") is not None


def test_groups_are_deleted_and_reset(broker: Broker) -> None:
    broker.groups.update(SubscriptionGroupConfig(group_name="g"))
    assert broker.groups.delete("g")
    assert not broker.groups.delete("g")
    broker.groups.find("h")
    broker.groups.reset()
    assert tuple(broker.groups.snapshot()) == BUILT_IN_GROUPS
