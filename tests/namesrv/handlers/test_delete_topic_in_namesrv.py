"""DELETE_TOPIC_IN_NAMESRV."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import NamesrvLab, register, route, topic
from tests.support.peer import Peer


def delete(peer: Peer, **fields: str) -> int:
    return peer.ask(RequestCode.DELETE_TOPIC_IN_NAMESRV, ext_fields=fields).code


def test_topic_is_deleted_everywhere_when_no_cluster_is_named(lab: NamesrvLab, peer: Peer) -> None:
    register(peer, topic("T"), topic("U"))
    assert delete(peer, topic="T") == 0
    assert route(peer, "T") is None
    assert route(peer, "U") is not None
    assert delete(peer, topic="U", clusterName="") == 0
    assert lab.servers[0].tables.topic_queue_table == {}


def test_topic_is_deleted_at_the_brokers_of_the_named_cluster(lab: NamesrvLab, peer: Peer) -> None:
    register(peer, topic("T"))
    register(peer, topic("T"), name="broker-b", addr="10.0.0.2:10911", cluster="Other")
    assert delete(peer, topic="T", clusterName="Other") == 0
    found = route(peer, "T")
    assert found is not None
    assert [data["brokerName"] for data in found["queueDatas"]] == ["broker-a"]
    assert delete(peer, topic="T", clusterName="DefaultCluster") == 0
    assert lab.servers[0].tables.topic_queue_table == {}


def test_unknown_topic_is_a_success(peer: Peer) -> None:
    register(peer, topic("T"))
    assert delete(peer, topic="nothing") == 0
    assert delete(peer, topic="nothing", clusterName="DefaultCluster") == 0
    assert delete(peer, topic="T", clusterName="nowhere") == 0
    assert delete(peer) == 0
    assert route(peer, "T") is not None


def test_next_data_version_registers_the_topic_again(peer: Peer) -> None:
    register(peer, topic("T"))
    delete(peer, topic="T")
    register(peer, topic("T"))
    assert route(peer, "T") is None
    register(peer, topic("T"), counter=2)
    assert route(peer, "T") is not None
