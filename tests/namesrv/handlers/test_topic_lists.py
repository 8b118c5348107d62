"""The lists of topics: all, of a cluster, system, and by the unit bits."""

from __future__ import annotations

import json

import pytest

from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import register, topic
from tests.support.peer import Peer


def listed(peer: Peer, code: RequestCode, **fields: str) -> list[str]:
    response = peer.ask(code, ext_fields=fields)
    assert response.code == 0
    names: list[str] = json.loads(response.body)["topicList"]
    return names


def test_every_topic_is_listed_once(peer: Peer) -> None:
    assert peer.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).body == b'{"topicList":[]}'
    register(peer, topic("T"), topic("U"))
    register(peer, topic("T"), topic("V"), name="broker-b", addr="10.0.0.2:10911")
    names = listed(peer, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    assert names == ["T", "U", "V"]


def test_topics_of_a_cluster_are_listed(peer: Peer) -> None:
    register(peer, topic("T"), topic("U"))
    register(peer, topic("T"), topic("V"), name="broker-b", addr="10.0.0.2:1", cluster="Other")
    code = RequestCode.GET_TOPICS_BY_CLUSTER
    assert listed(peer, code, cluster="DefaultCluster") == ["T", "U"]
    assert listed(peer, code, cluster="Other") == ["T", "V"]
    assert listed(peer, code, cluster="nowhere") == []
    assert listed(peer, code) == []


def test_system_topics_are_the_names_of_clusters_and_brokers(peer: Peer) -> None:
    empty = peer.ask(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)
    assert empty.body == b'{"topicList":[]}'
    register(peer, topic("T"))
    register(peer, name="broker-b", addr="10.0.0.2:10911")
    response = peer.ask(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)
    content = json.loads(response.body)
    assert sorted(content["topicList"]) == ["DefaultCluster", "broker-a", "broker-b"]
    assert content["brokerAddr"] == "10.0.0.2:10911", "Java meets broker-b first"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (RequestCode.GET_UNIT_TOPIC_LIST, ["both", "unit"]),
        (RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST, ["both", "sub"]),
        (RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, ["sub"]),
    ],
)
def test_topics_are_selected_by_unit_bits(
    peer: Peer, code: RequestCode, expected: list[str]
) -> None:
    register(
        peer,
        topic("plain"),
        topic("unit", sys_flag=1),
        topic("sub", sys_flag=2),
        topic("both", sys_flag=3),
    )
    assert sorted(listed(peer, code)) == expected


def test_queue_data_of_one_broker_decides_about_the_unit_bits(peer: Peer) -> None:
    register(peer, topic("T", sys_flag=0))
    register(peer, topic("T", sys_flag=1), name="broker-b", addr="10.0.0.2:10911")
    assert listed(peer, RequestCode.GET_UNIT_TOPIC_LIST) == ["T"], "Java meets broker-b first"
