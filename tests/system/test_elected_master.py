"""A producer finds a master that was elected after a send, with the next send."""

from __future__ import annotations

import json
import zlib

import pytest

import fakemq
from fakemq.client import MQClientError, Producer
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.namesrv import RegisterBrokerRequestHeader
from tests.support.namesrv_lab import topic
from tests.support.tcp import TcpPeer


def register(peer: TcpPeer, broker_id: int, addr: str, counter: int) -> None:
    topics = {name: topic(name) for name in ("orders", "other")}
    version = {"counter": counter, "timestamp": counter, "stateVersion": counter}
    wrapper = {"dataVersion": version, "topicConfigTable": topics}
    body = json.dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper}).encode()
    header = RegisterBrokerRequestHeader(
        broker_name="replicas",
        broker_addr=addr,
        cluster_name="DefaultCluster",
        ha_server_addr="10.0.0.1:1",
        broker_id=broker_id,
        body_crc32=zlib.crc32(body) & 0x7FFFFFFF,
    )
    assert peer.ask(RequestCode.REGISTER_BROKER, header, body).code == 0


def test_producer_that_found_no_master_finds_the_next_one_at_once() -> None:
    with (
        fakemq.Cluster(reference="5.5.0") as mq,
        fakemq.Cluster(topics={"orders": 4}) as elsewhere,
        TcpPeer(mq.namesrv_addr) as second,
        Producer(mq.namesrv_addr, group="g") as producer,
    ):
        addr = elsewhere.broker("broker-a").addr
        with TcpPeer(mq.namesrv_addr) as first:
            register(first, 0, "127.0.0.1:1", 1)
            register(second, 2, addr, 2)
        mq.wait_for(lambda: mq.journal.find(fakemq.events.BrokerGone))
        with pytest.raises(MQClientError, match="No route info of this topic"):
            producer.send("orders", b"too early")
        register(second, 0, addr, 3)
        producer.send("orders", b"tea")
        assert [one.body for one in elsewhere.messages("orders")] == [b"tea"]
