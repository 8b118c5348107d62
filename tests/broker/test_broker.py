"""A broker's life: start, stop, kill, pause, resume and reset; its ports and addresses."""

from __future__ import annotations

import json

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import NodeStarted, NodeStopped, Warned
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.headers.offset import GetMaxOffsetRequestHeader
from tests.support.broker_lab import BrokerLab, Send
from tests.support.peer import Peer

NS = "10.0.0.1:9876"
NO_CHECKS = BrokerConfig(transaction_check_interval=10**9)
"""The first look at transactions makes a topic, and registers it at the name servers."""


def max_offset(peer: Peer, topic: str = "orders") -> str:
    header = GetMaxOffsetRequestHeader(topic=topic, queue_id=0)
    return peer.ask(RequestCode.GET_MAX_OFFSET, header).ext_fields["offset"]


def test_addresses_follow_the_listen_port(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(broker_ip1="10.1.1.1", broker_ip2="10.2.2.2", listen_port=99))
    assert (broker.addr, broker.vip_addr) == ("10.1.1.1:99", "10.1.1.1:97")
    assert broker.ha_addr == "10.2.2.2:100"
    assert broker.store_host == ("10.1.1.1", 99)


@pytest.mark.parametrize("code", [9999, RequestCode.QUERY_BROKER_OFFSET])
def test_unknown_code_is_answered_with_javas_remark(peer: Peer, code: int) -> None:
    response = peer.ask(code)
    assert response.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert response.remark == f" request type {code} not supported"


def test_request_for_a_name_server_is_in_the_log(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC)
    (warned,) = lab.journal.find(Warned)
    assert warned.text == (
        "GET_ROUTEINFO_BY_TOPIC (105) is for a name server, and this is a broker: a client takes"
        f" {broker.addr} for the address of a name server"
    )


def test_vip_port_serves_all_but_pulls(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.vip_addr)
    response = peer.ask(RequestCode.PULL_MESSAGE)
    assert response.remark == " request type 11 not supported"
    assert max_offset(peer) == "0"
    assert lab.peer(broker.addr).ask(RequestCode.PULL_MESSAGE).code == ResponseCode.SYSTEM_ERROR


def test_answer_has_the_serialisation_of_the_request(peer: Peer) -> None:
    response = peer.ask(
        RequestCode.GET_MAX_OFFSET,
        GetMaxOffsetRequestHeader(topic="orders", queue_id=0),
        serialize_type=SerializeType.ROCKETMQ,
    )
    assert response.serialize_type is SerializeType.ROCKETMQ


def test_stop_unregisters_closes_and_calls_back(lab: BrokerLab) -> None:
    server = lab.name_server(NS)
    broker = lab.broker(namesrv_addrs=(NS,))
    peer = lab.peer(broker.addr)
    server.requests.clear()
    stopped: list[bool] = []
    broker.stop(lambda: stopped.append(True))
    assert (broker.state.value, stopped) == ("stopping", [])
    lab.network.settle()
    assert (broker.state.value, stopped) == ("stopped", [True])
    assert server.codes() == [RequestCode.UNREGISTER_BROKER]
    assert server.requests[0].ext_fields == {
        "brokerName": "broker-a",
        "brokerAddr": "127.0.0.1:10911",
        "clusterName": "DefaultCluster",
        "brokerId": "0",
    }
    assert peer.closed
    assert len(server.lost) == 1
    assert not [timer for timer in lab.clock.timers() if timer.owner == broker.name]
    assert [event.how for event in lab.journal.find(NodeStopped)] == ["stop"]


def test_stop_has_a_time_limit(lab: BrokerLab) -> None:
    server = lab.name_server(NS)
    broker = lab.broker(namesrv_addrs=(NS, "10.0.0.9:9876"))
    server.answer = lambda request: None
    broker.stop()
    lab.network.settle()
    assert broker.state.value == "stopping"
    lab.clock.advance("3s")
    assert broker.state.value == "stopped"


def test_stop_without_name_servers_is_immediate_and_idempotent(broker: Broker) -> None:
    calls: list[int] = []
    broker.stop(lambda: calls.append(1))
    broker.stop(lambda: calls.append(2))
    assert calls == [1, 2]
    assert len(broker.journal.find(NodeStopped)) == 1


def test_kill_notifies_no_name_server(lab: BrokerLab) -> None:
    server = lab.name_server(NS)
    broker = lab.broker(namesrv_addrs=(NS,))
    peer = lab.peer(broker.addr)
    server.requests.clear()
    broker.kill()
    lab.network.settle()
    assert server.requests == []
    assert len(server.lost) == 1
    assert peer.closed
    assert peer.requests == []
    assert not broker.running
    assert not [timer for timer in lab.clock.timers() if timer.owner == broker.name]


def test_killed_broker_starts_with_its_messages(lab: BrokerLab, broker: Broker, send: Send) -> None:
    send()
    broker.kill()
    lab.network.settle()
    broker.start()
    assert broker.running
    assert max_offset(lab.peer(broker.addr)) == "1"
    assert len(lab.journal.find(NodeStarted)) == 2


def test_paused_broker_reads_nothing_and_answers_after_resume(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    broker.pause()
    header = GetMaxOffsetRequestHeader(topic="orders", queue_id=0)
    answer = peer.send(RequestCode.GET_MAX_OFFSET, header, timeout_ms=60_000)
    lab.clock.advance("30s")
    assert not answer.over
    broker.resume()
    lab.network.settle()
    assert answer.response is not None
    assert [event.how for event in lab.journal.find(NodeStopped)] == ["pause", "resume"]


def test_paused_broker_registers_after_resume(lab: BrokerLab) -> None:
    server = lab.name_server(NS)
    broker = lab.broker(NO_CHECKS, namesrv_addrs=(NS,))
    broker.pause()
    server.requests.clear()
    lab.clock.advance("100s")
    assert server.requests == []
    broker.resume()
    lab.network.settle()
    assert server.codes() == [RequestCode.REGISTER_BROKER]


def test_broker_that_expired_while_paused_registers_after_resume(lab: BrokerLab) -> None:
    server = lab.name_server(NS)
    broker = lab.broker(NO_CHECKS, namesrv_addrs=(NS,))
    broker.pause()
    lab.clock.advance("100s")
    server.sessions[0].close("expired")
    lab.network.settle()
    server.requests.clear()
    broker.resume()
    lab.network.settle()
    assert server.codes() == [RequestCode.REGISTER_BROKER]
    assert len(server.sessions) == 2


def test_heartbeat_to_a_paused_broker_counts_after_resume(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    heartbeat = {"clientID": "client-1", "producerDataSet": [{"groupName": "senders"}]}
    body = json.dumps(heartbeat).encode()
    peer.ask(RequestCode.HEART_BEAT, body=body)
    broker.pause()
    lab.clock.advance("110s")
    answer = peer.send(RequestCode.HEART_BEAT, body=body, timeout_ms=60_000)
    lab.clock.advance("20s")
    broker.resume()
    lab.network.settle()
    assert answer.response is not None
    assert list(broker.producers.snapshot()) == ["senders"]


def test_connection_to_a_paused_broker_waits(lab: BrokerLab, broker: Broker) -> None:
    broker.pause()
    peer = lab.peer(broker.addr)
    header = GetMaxOffsetRequestHeader(topic="orders", queue_id=0)
    answer = peer.send(RequestCode.GET_MAX_OFFSET, header, timeout_ms=60_000)
    assert not answer.over
    broker.resume()
    lab.network.settle()
    assert answer.response is not None


def test_paused_broker_can_be_stopped_and_killed(lab: BrokerLab, broker: Broker) -> None:
    broker.pause()
    broker.stop()
    assert broker.state.value == "stopped"
    broker.start()
    broker.pause()
    broker.kill()
    assert broker.state.value == "stopped"


def test_reset_empties_everything_and_keeps_connections(
    broker: Broker, peer: Peer, send: Send
) -> None:
    send()
    broker.offsets.commit("g", "orders", 0, 1)
    broker.groups.find("g")
    broker.reset()
    assert "orders" not in broker.topics.snapshot()
    assert "g" not in broker.groups.snapshot()
    assert broker.offsets.snapshot() == {}
    assert not peer.closed
    assert max_offset(peer) == "0"


def test_closed_connection_is_forgotten(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    assert len(broker.sessions) == 1
    peer.close()
    assert not broker.sessions


def test_broker_killed_while_stopping_is_down_at_once(lab: BrokerLab) -> None:
    lab.name_server(NS).answer = lambda request: None
    broker = lab.broker(namesrv_addrs=(NS,))
    stopped: list[bool] = []
    broker.stop(lambda: stopped.append(True))
    broker.kill()
    assert (broker.state.value, stopped) == ("stopped", [True])
    assert [event.how for event in lab.journal.find(NodeStopped)] == ["kill"]


def test_repr_shows_name_and_state(broker: Broker) -> None:
    assert repr(broker) == "<broker broker-a-0 at 127.0.0.1:10911 running>"


def test_reset_restores_the_config_for_all_its_users(lab: BrokerLab) -> None:
    given = BrokerConfig(default_topic_queue_nums=3)
    broker = lab.broker(given)
    broker.config.assign({"default_topic_queue_nums": 7, "broker_permission": 4})
    broker.reset()
    assert broker.config is given
    assert (given.default_topic_queue_nums, given.broker_permission) == (3, 6)


def test_start_while_stopping_leaves_one_timer_of_each_kind(lab: BrokerLab) -> None:
    lab.name_server(NS).answer = lambda request: None
    broker = lab.broker(namesrv_addrs=(NS,))
    broker.stop()
    assert broker.state.value == "stopping"
    broker.start((NS,))
    assert [timer.kind for timer in lab.clock.timers()].count("register_broker") == 1
    lab.clock.advance("4s")
    assert broker.state.value == "running"
