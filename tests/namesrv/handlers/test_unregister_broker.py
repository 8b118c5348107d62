"""UNREGISTER_BROKER."""

from __future__ import annotations

from fakemq.events import BrokerGone
from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import NamesrvLab, broker_fields, register, route, topic
from tests.support.peer import Peer


def unregister(peer: Peer, *, name: str = "broker-a", addr: str = "10.0.0.1:10911") -> int:
    fields = broker_fields(name=name, addr=addr)
    return peer.ask(RequestCode.UNREGISTER_BROKER, ext_fields=fields).code


def test_last_broker_of_a_name_removes_its_queues_and_its_cluster(
    lab: NamesrvLab, peer: Peer
) -> None:
    register(peer, topic("T"), filter_servers=["10.0.0.9:1"])
    assert unregister(peer) == 0
    assert route(peer, "T") is None
    tables = lab.servers[0].tables
    assert tables.broker_addr_table == {}
    assert tables.cluster_addr_table == {}
    assert tables.broker_live_table == {}
    assert tables.filter_server_table == {}
    assert [gone.why for gone in lab.journal.find(BrokerGone)] == ["unregistered"]
    assert not peer.closed
    assert not [timer for timer in lab.clock.timers() if timer.kind == "broker_expiry"]


def test_other_brokers_keep_their_queues_of_a_shared_topic(peer: Peer) -> None:
    register(peer, topic("T"))
    register(peer, topic("T"), name="broker-b", addr="10.0.0.2:10911")
    unregister(peer)
    found = route(peer, "T")
    assert found is not None
    assert [data["brokerName"] for data in found["queueDatas"]] == ["broker-b"]


def test_unknown_broker_is_a_success(lab: NamesrvLab, peer: Peer) -> None:
    assert unregister(peer) == 0
    register(peer, topic("T"))
    assert unregister(peer, name="absent", addr="10.0.0.7:10911") == 0
    assert route(peer, "T") is not None
    assert lab.journal.find(BrokerGone) == []


def test_name_and_id_identify_a_broker_and_an_address_does_not(peer: Peer) -> None:
    register(peer, topic("T"))
    fields = broker_fields()
    address_only = {"brokerAddr": fields["brokerAddr"], "brokerId": "0"}
    assert peer.ask(RequestCode.UNREGISTER_BROKER, ext_fields=address_only).code == 0
    assert route(peer, "T") is not None
    del fields["brokerAddr"]
    assert peer.ask(RequestCode.UNREGISTER_BROKER, ext_fields=fields).code == 0
    assert route(peer, "T") is None


def test_missing_broker_id_is_code_1(peer: Peer) -> None:
    fields = broker_fields()
    del fields["brokerId"]
    assert peer.ask(RequestCode.UNREGISTER_BROKER, ext_fields=fields).code == 1
