"""Several clusters in one process: each broker says its own, and all name servers know all."""

from __future__ import annotations

from typing import Any

import fakemq
from fakemq.client import Producer
from fakemq.protocol import fastjson
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.header import Header
from fakemq.protocol.headers.topic import GetTopicsByClusterRequestHeader
from tests.support.tcp import TcpPeer

CLUSTERS = ("First", "Second")


def ask(addr: str, code: RequestCode, header: Header | None = None) -> dict[str, Any]:
    with TcpPeer(addr) as peer:
        answer = peer.ask(code, header)
    assert answer.code == 0, answer.remark
    found: dict[str, Any] = fastjson.loads(bytes(answer.body).decode())
    return found


def test_name_servers_know_which_broker_is_in_which_cluster() -> None:
    config = [{"brokerClusterName": name} for name in CLUSTERS]
    with fakemq.Cluster(masters=2, namesrvs=2, config=config, clock="frozen") as mq:
        addrs = mq.namesrv_addr.split(";")
        assert len(addrs) == 2
        for addr in addrs:
            info = ask(addr, RequestCode.GET_BROKER_CLUSTER_INFO)
            assert info["clusterAddrTable"] == {"First": ["broker-a"], "Second": ["broker-b"]}
            assert {one["cluster"] for one in info["brokerAddrTable"].values()} == set(CLUSTERS)
            for name in CLUSTERS:
                header = GetTopicsByClusterRequestHeader(cluster=name)
                topics = ask(addr, RequestCode.GET_TOPICS_BY_CLUSTER, header)["topicList"]
                assert name in topics, "the topic that is called like the cluster"
                assert set(CLUSTERS) - set(topics) == set(CLUSTERS) - {name}


def test_topic_of_one_cluster_is_routed_there_by_each_name_server() -> None:
    config = [{"brokerClusterName": name, "autoCreateTopicEnable": False} for name in CLUSTERS]
    with fakemq.Cluster(masters=2, namesrvs=2, config=config) as mq:
        mq.inspect(lambda core: core.brokers["broker-b-0"].create_topic("bills", 2))
        with Producer(mq.namesrv_addr, group="p") as producer:
            assert {producer.send("bills", b"x").broker_name for _ in range(4)} == {"broker-b"}
        mq.name_server(0).kill()
        with Producer(mq.namesrv_addr, group="q") as producer:
            assert producer.send("bills", b"x").broker_name == "broker-b"
