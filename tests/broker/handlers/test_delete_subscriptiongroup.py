"""DELETE_SUBSCRIPTIONGROUP: the group goes, its offsets only when asked for."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import GroupChanged
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, TOPIC, consume, pull, send
from tests.support.peer import Peer


def delete(peer: Peer, group: str = GROUP, **fields: str) -> RemotingCommand:
    return peer.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, ext_fields={"groupName": group} | fields)


def test_group_is_deleted_and_created_again_with_defaults(broker: Broker, peer: Peer) -> None:
    send(peer)
    broker.groups.update(SubscriptionGroupConfig(group_name=GROUP, consume_enable=False))
    assert pull(peer).code == ResponseCode.NO_PERMISSION
    response = delete(peer)
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    assert GROUP not in broker.groups.snapshot()
    assert pull(peer).code == ResponseCode.SUCCESS
    assert broker.groups.snapshot()[GROUP].consume_enable
    assert [event.how for event in broker.journal.find(GroupChanged, group=GROUP)] == [
        "created",
        "deleted",
        "created",
    ]


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({}, True),
        ({"removeOffset": "false"}, True),
        ({"removeOffset": "true"}, False),
        ({"cleanOffset": "true"}, False),
    ],
)
def test_offsets_are_deleted_on_request(
    broker: Broker, peer: Peer, fields: dict[str, str], kept: bool
) -> None:
    for group in (GROUP, f"{GROUP}2"):
        broker.offsets.commit(group, TOPIC, 0, 5)
    delete(peer, **fields)
    assert broker.offsets.query(GROUP, TOPIC, 0) == (5 if kept else -1)
    assert broker.offsets.query(f"{GROUP}2", TOPIC, 0) == 5


def test_members_and_topics_of_the_group_stay(broker: Broker, peer: Peer) -> None:
    consume(peer)
    peer.requests.clear()
    delete(peer)
    assert GROUP in broker.consumers.snapshot()
    assert broker.topics.select(f"%RETRY%{GROUP}") is not None
    assert peer.requests == []


def test_unknown_group_is_a_success(peer: Peer) -> None:
    assert delete(peer, "absent").code == ResponseCode.SUCCESS


def test_slave_refuses_and_names_its_master(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(broker_role="SLAVE", broker_id=1))
    assert delete(lab.peer(broker.addr)).code == ResponseCode.SYSTEM_ERROR


@pytest.mark.parametrize("drop", [False, True])
def test_counters_are_dropped_when_the_broker_is_configured_to(lab: BrokerLab, drop: bool) -> None:
    broker = lab.broker(BrokerConfig(auto_delete_unused_stats=drop))
    peer = lab.peer(broker.addr)
    send(peer)
    pull(peer)
    delete(peer)
    assert (broker.stats.snapshots("GROUP_GET_NUMS", f"{TOPIC}@{GROUP}") is None) is drop
