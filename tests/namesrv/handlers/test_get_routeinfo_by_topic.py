"""GET_ROUTEINFO_BY_TOPIC."""

from __future__ import annotations

import pytest

from fakemq.config.model import NamesrvConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import SerializeType
from tests.support.namesrv_lab import NamesrvLab, register, route, topic
from tests.support.peer import Peer

STANDARD = (
    b'{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911","1":"10.0.0.2:10911"},'
    b'"brokerName":"broker-a","cluster":"DefaultCluster"}],"filterServerTable":{},'
    b'"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":4,"topicSysFlag":0,'
    b'"writeQueueNums":4}]}'
)
FASTJSON = STANDARD.replace(b'"0":', b"0:").replace(b'"1":', b"1:")


def register_pair(peer: Peer) -> None:
    register(peer, broker_id=1, addr="10.0.0.2:10911")
    register(peer, topic("T"))


@pytest.mark.parametrize(
    ("version", "standard_only", "expected"),
    [
        (407, None, STANDARD),
        (401, None, STANDARD),
        (400, None, FASTJSON),
        (400, "false", FASTJSON),
        (400, "true", STANDARD),
        (0, "TRUE", STANDARD),
    ],
)
def test_json_dialect_depends_on_the_client(
    peer: Peer, version: int, standard_only: str | None, expected: bytes
) -> None:
    register_pair(peer)
    fields = {"topic": "T"}
    if standard_only is not None:
        fields["acceptStandardJsonOnly"] = standard_only
    response = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields=fields, version=version)
    assert (response.code, response.remark, response.body) == (0, None, expected)


def test_standard_json_is_ascii(peer: Peer) -> None:
    register(peer, topic("T"), name="брокер")
    fields = {"topic": "T"}
    body = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields=fields).body
    assert b"\\u0431\\u0440" in body.lower()
    old = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields=fields, version=400).body
    assert "брокер".encode() in old


def test_missing_topic_is_read_as_null(peer: Peer) -> None:
    response = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC)
    assert response.code == 17
    assert response.remark is not None
    assert "for the topic: null\n" in response.remark


def test_answer_has_the_serialisation_of_the_request(peer: Peer) -> None:
    register_pair(peer)
    response = peer.ask(
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        ext_fields={"topic": "T"},
        serialize_type=SerializeType.ROCKETMQ,
    )
    assert response.serialize_type is SerializeType.ROCKETMQ
    assert response.body == STANDARD


def test_order_config_is_included_when_enabled(lab: NamesrvLab) -> None:
    ordered = lab.peer(lab.name_server(NamesrvConfig(order_message_enable=True)))
    plain = lab.peer(lab.name_server())
    fields = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "broker-a:4"}
    for peer in (ordered, plain):
        register(peer, topic("T"), topic("U"))
        peer.ask(RequestCode.PUT_KV_CONFIG, ext_fields=fields)
    with_order = route(ordered, "T")
    assert with_order is not None
    assert with_order["orderTopicConf"] == "broker-a:4"
    for peer, name in ((ordered, "U"), (plain, "T")):
        without = route(peer, name)
        assert without is not None
        assert "orderTopicConf" not in without


def test_brokers_are_in_hash_table_order(peer: Peer) -> None:
    for number, name in enumerate(("broker-c", "broker-b", "broker-a")):
        register(peer, topic("T"), name=name, addr=f"10.0.0.{number}:10911")
    found = route(peer, "T")
    assert found is not None
    names = ["broker-b", "broker-c", "broker-a"]  # as JDK 17 walks them
    assert [data["brokerName"] for data in found["brokerDatas"]] == names
    assert [data["brokerName"] for data in found["queueDatas"]] == names
