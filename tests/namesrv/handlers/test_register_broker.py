"""REGISTER_BROKER."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

from fakemq.events import BrokerRegistered
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from tests.support.namesrv_lab import NamesrvLab, broker_fields, register, route, topic, wrapper
from tests.support.peer import Peer


def ask(peer: Peer, body: bytes, *, version: int = 407, **fields: str) -> RemotingCommand:
    known = broker_fields() | {"haServerAddr": "10.0.0.1:10912"} | fields
    return peer.ask(RequestCode.REGISTER_BROKER, body=body, ext_fields=known, version=version)


def length_prefixed(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">i", len(data)) + data


def test_registered_topic_has_a_route(lab: NamesrvLab, peer: Peer) -> None:
    response = register(peer, topic("T", queues=3), filter_servers=["10.0.0.9:1"])
    assert (response.code, response.remark) == (0, None)
    assert (response.ext_fields, response.body) == ({}, b"")
    assert route(peer, "T") == {
        "brokerDatas": [
            {
                "brokerAddrs": {"0": "10.0.0.1:10911"},
                "brokerName": "broker-a",
                "cluster": "DefaultCluster",
            }
        ],
        "filterServerTable": {"10.0.0.1:10911": ["10.0.0.9:1"]},
        "queueDatas": [
            {
                "brokerName": "broker-a",
                "perm": 6,
                "readQueueNums": 3,
                "topicSysFlag": 0,
                "writeQueueNums": 3,
            }
        ],
    }
    registered = lab.journal.find(BrokerRegistered)
    assert [event.broker_addr for event in registered] == ["10.0.0.1:10911"]


def test_checksum_zero_is_not_checked(peer: Peer) -> None:
    body = json.dumps({"topicConfigSerializeWrapper": wrapper(topic("T"))}).encode()
    assert ask(peer, body, bodyCrc32="0").code == 0
    assert route(peer, "T") is not None


def test_compressed_body_is_read(peer: Peer) -> None:
    plain = length_prefixed('{"counter":1,"timestamp":7}')
    plain += struct.pack(">i", 2)
    plain += length_prefixed("T 3 5 6 SINGLE_TAG") + length_prefixed("U 1 1 4 SINGLE_TAG")
    plain += length_prefixed('["10.0.0.9:1"]')
    body = zlib.compress(plain, 9)
    crc = str(zlib.crc32(body) & 0x7FFFFFFF)
    assert ask(peer, body, compressed="true", bodyCrc32=crc).code == 0
    found = route(peer, "T")
    assert found is not None
    assert found["queueDatas"][0]["readQueueNums"] == 3
    assert found["queueDatas"][0]["writeQueueNums"] == 5
    assert found["filterServerTable"] == {"10.0.0.1:10911": ["10.0.0.9:1"]}
    assert route(peer, "U") is not None


def test_unreadable_body_is_code_1(peer: Peer) -> None:
    for compressed in ("true", "false"):
        response = ask(peer, b"\x01garbage", compressed=compressed)
        assert response.code == 1
        assert response.remark is not None
        assert response.remark.startswith(
            "org.apache.rocketmq.remoting.exception.RemotingCommandException:"
            " Failed to decode RegisterBrokerBody, "
        )


def test_missing_body_registers_data_version_0(peer: Peer) -> None:
    assert ask(peer, b"").code == 0
    response = peer.ask(
        RequestCode.QUERY_DATA_VERSION,
        body=b'{"counter":0,"timestamp":0}',
        ext_fields=broker_fields(),
    )
    assert response.ext_fields == {"changed": "false"}


def test_body_before_3_0_11_is_the_wrapper_alone(lab: NamesrvLab, peer: Peer) -> None:
    register(peer, topic("T"), filter_servers=["10.0.0.9:1"])
    body = json.dumps(wrapper(topic("U"), counter=2)).encode()
    assert ask(peer, body, version=36).code == 0
    assert route(peer, "U") is not None
    filters = lab.servers[0].tables.filter_server_table
    assert filters == {"10.0.0.1:10911": ["10.0.0.9:1"]}, "left alone: the old body has none"
    assert ask(peer, b"", version=36).code == 0


def test_new_address_of_an_id_registers_its_queues_for_any_version(peer: Peer) -> None:
    register(peer, topic("T"), counter=1)
    register(peer, topic("U"), counter=1, addr="10.0.0.2:10911")
    assert route(peer, "U") is not None


def test_empty_list_removes_filter_servers(lab: NamesrvLab, peer: Peer) -> None:
    register(peer, filter_servers=["10.0.0.9:1"])
    register(peer)
    assert lab.servers[0].tables.filter_server_table == {}


def test_answer_has_the_order_topics(peer: Peer) -> None:
    fields = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "broker-a:4"}
    peer.ask(RequestCode.PUT_KV_CONFIG, ext_fields=fields)
    content: dict[str, Any] = json.loads(register(peer).body)
    assert content == {"table": {"T": "broker-a:4"}}


def test_missing_broker_id_is_code_1_and_registers_nothing(lab: NamesrvLab, peer: Peer) -> None:
    fields = broker_fields() | {"haServerAddr": "10.0.0.1:10912"}
    del fields["brokerId"]
    response = peer.ask(RequestCode.REGISTER_BROKER, ext_fields=fields)
    assert response.code == 1
    assert response.remark is not None
    assert response.remark.startswith("java.lang.NullPointerException")
    assert lab.servers[0].tables.broker_live_table == {}


def test_route_repeats_the_extra_fields_of_a_5_x_broker(peer: Peer) -> None:
    body = json.dumps({"topicConfigSerializeWrapper": wrapper(topic("T"), counter=1)}).encode()
    for text, said in (("false", False), ("true", True)):
        assert ask(peer, body, enableActingMaster=text).code == 0
        assert routed(peer)["enableActingMaster"] is said
    assert ask(peer, body).code == 0
    assert "enableActingMaster" not in routed(peer)


def routed(peer: Peer) -> dict[str, Any]:
    """What the route of T says of its one broker."""
    found = route(peer, "T")
    assert found is not None
    (broker,) = found["brokerDatas"]
    return dict(broker)
