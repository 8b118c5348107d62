"""REGISTER_TOPIC_IN_NAMESRV (217)."""

from __future__ import annotations

import json

from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.namesrv_lab import NamesrvLab, register, route, topic
from tests.support.peer import Peer


def give(peer: Peer, name: str, *brokers: str) -> RemotingCommand:
    queues = [
        {"brokerName": broker, "perm": 6, "readQueueNums": 3, "writeQueueNums": 3}
        for broker in brokers
    ]
    body = json.dumps({"queueDatas": queues}).encode() if brokers else b""
    code = RequestCode5.REGISTER_TOPIC_IN_NAMESRV
    return peer.ask(code, body=body, ext_fields={"topic": name})


def test_topic_gets_queues_of_registered_brokers_only() -> None:
    lab = NamesrvLab()
    peer = lab.peer(lab.name_server(reference=REFERENCE))
    register(peer, topic("T"), topic("U"))
    assert give(peer, "New", "broker-a").code == ResponseCode.SUCCESS
    found = route(peer, "New")
    assert found is not None
    assert found["queueDatas"][0]["readQueueNums"] == 3
    assert give(peer, "Other", "broker-a", "broker-z").code == ResponseCode.SUCCESS
    assert route(peer, "Other") is None
    give(peer, "T", "broker-a", "broker-z")
    found = route(peer, "T")
    assert found is not None
    assert found["queueDatas"][0]["readQueueNums"] == 3
    assert give(peer, "None").code == ResponseCode.SUCCESS
    assert route(peer, "None") is None
