"""GET_BROKER_CLUSTER_INFO."""

from __future__ import annotations

import pytest

from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import register, topic
from tests.support.peer import Peer


@pytest.mark.parametrize("version", [36, 407])
def test_brokers_are_listed_by_name_and_cluster(peer: Peer, version: int) -> None:
    register(peer, topic("T"))
    register(peer, broker_id=1, addr="10.0.0.2:10911")
    register(peer, name="broker-b", addr="10.0.0.3:10911", cluster="Other")
    response = peer.ask(RequestCode.GET_BROKER_CLUSTER_INFO, version=version)
    assert response.code == 0
    assert response.body == (
        b'{"brokerAddrTable":{'
        b'"broker-b":{"brokerAddrs":{0:"10.0.0.3:10911"},'
        b'"brokerName":"broker-b","cluster":"Other"},'
        b'"broker-a":{"brokerAddrs":{0:"10.0.0.1:10911",1:"10.0.0.2:10911"},'
        b'"brokerName":"broker-a","cluster":"DefaultCluster"}},'
        b'"clusterAddrTable":{"DefaultCluster":["broker-a"],"Other":["broker-b"]}}'
    )


def test_tables_are_empty_when_no_broker_is_registered(peer: Peer) -> None:
    response = peer.ask(RequestCode.GET_BROKER_CLUSTER_INFO)
    assert response.body == b'{"brokerAddrTable":{},"clusterAddrTable":{}}'
