"""A broker's life: start, stop, kill, pause, resume and reset; its ports and addresses."""

from __future__ import annotations

import json

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import NodeStarted, NodeStopped
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.headers.offset import GetMaxOffsetRequestHeader
from tests.support.peer import Peer
from tests.support.world import Send, World

NS = "10.0.0.1:9876"
NO_CHECKS = BrokerConfig(transaction_check_interval=10**9)
"""The first look at transactions makes a topic, and tells the name servers of it."""


def max_offset(peer: Peer, topic: str = "orders") -> str:
    header = GetMaxOffsetRequestHeader(topic=topic, queue_id=0)
    return peer.ask(RequestCode.GET_MAX_OFFSET, header).ext_fields["offset"]


def test_addresses_follow_the_listen_port(world: World) -> None:
    broker = world.broker(
        BrokerConfig(broker_ip1="10.1.1.1", broker_ip2="10.2.2.2", listen_port=99)
    )
    assert (broker.addr, broker.vip_addr) == ("10.1.1.1:99", "10.1.1.1:97")
    assert broker.ha_addr == "10.2.2.2:100"
    assert broker.store_host == ("10.1.1.1", 99)


@pytest.mark.parametrize("code", [9999, RequestCode.QUERY_BROKER_OFFSET])
def test_unknown_codes_get_javas_remark(peer: Peer, code: int) -> None:
    response = peer.ask(code)
    assert response.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert response.remark == f" request type {code} not supported"


def test_the_vip_port_answers_all_but_pulls(world: World, broker: Broker) -> None:
    peer = world.peer(broker.vip_addr)
    response = peer.ask(RequestCode.PULL_MESSAGE)
    assert response.remark == " request type 11 not supported"
    assert max_offset(peer) == "0"
    assert world.peer(broker.addr).ask(RequestCode.PULL_MESSAGE).code == ResponseCode.SYSTEM_ERROR


def test_answers_are_written_as_the_request_was(peer: Peer) -> None:
    response = peer.ask(
        RequestCode.GET_MAX_OFFSET,
        GetMaxOffsetRequestHeader(topic="orders", queue_id=0),
        serialize_type=SerializeType.ROCKETMQ,
    )
    assert response.serialize_type is SerializeType.ROCKETMQ


def test_stop_unregisters_then_closes_and_says_so(world: World) -> None:
    server = world.name_server(NS)
    broker = world.broker(namesrv_addrs=(NS,))
    peer = world.peer(broker.addr)
    server.requests.clear()
    stopped: list[bool] = []
    broker.stop(lambda: stopped.append(True))
    assert (broker.state.value, stopped) == ("stopping", [])
    world.network.settle()
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
    assert not [timer for timer in world.clock.timers() if timer.owner == broker.name]
    assert [event.how for event in world.journal.find(NodeStopped)] == ["stop"]


def test_stop_does_not_wait_for_ever(world: World) -> None:
    server = world.name_server(NS)
    broker = world.broker(namesrv_addrs=(NS, "10.0.0.9:9876"))
    server.answer = lambda request: None
    broker.stop()
    world.network.settle()
    assert broker.state.value == "stopping"
    world.clock.advance("3s")
    assert broker.state.value == "stopped"


def test_stop_without_name_servers_is_at_once_and_twice_is_once(broker: Broker) -> None:
    calls: list[int] = []
    broker.stop(lambda: calls.append(1))
    broker.stop(lambda: calls.append(2))
    assert calls == [1, 2]
    assert len(broker.journal.find(NodeStopped)) == 1


def test_kill_tells_nobody(world: World) -> None:
    server = world.name_server(NS)
    broker = world.broker(namesrv_addrs=(NS,))
    peer = world.peer(broker.addr)
    server.requests.clear()
    broker.kill()
    world.network.settle()
    assert server.requests == []
    assert len(server.lost) == 1
    assert peer.closed
    assert peer.requests == []
    assert not broker.running
    assert not [timer for timer in world.clock.timers() if timer.owner == broker.name]


def test_a_killed_broker_starts_again_with_what_it_had(
    world: World, broker: Broker, send: Send
) -> None:
    send()
    broker.kill()
    world.network.settle()
    broker.start()
    assert broker.running
    assert max_offset(world.peer(broker.addr)) == "1"
    assert len(world.journal.find(NodeStarted)) == 2


def test_a_paused_broker_reads_nothing_and_answers_late(
    world: World, broker: Broker, peer: Peer
) -> None:
    broker.pause()
    header = GetMaxOffsetRequestHeader(topic="orders", queue_id=0)
    answer = peer.send(RequestCode.GET_MAX_OFFSET, header, timeout_ms=60_000)
    world.clock.advance("30s")
    assert not answer.over
    broker.resume()
    world.network.settle()
    assert answer.response is not None
    assert [event.how for event in world.journal.find(NodeStopped)] == ["pause", "resume"]


def test_a_paused_broker_does_not_register_until_it_goes_on(world: World) -> None:
    server = world.name_server(NS)
    broker = world.broker(NO_CHECKS, namesrv_addrs=(NS,))
    broker.pause()
    server.requests.clear()
    world.clock.advance("100s")
    assert server.requests == []
    broker.resume()
    world.network.settle()
    assert server.codes() == [RequestCode.REGISTER_BROKER]


def test_a_broker_that_was_put_out_while_paused_registers_when_it_goes_on(world: World) -> None:
    server = world.name_server(NS)
    broker = world.broker(NO_CHECKS, namesrv_addrs=(NS,))
    broker.pause()
    world.clock.advance("100s")
    server.sessions[0].close("expired")
    world.network.settle()
    server.requests.clear()
    broker.resume()
    world.network.settle()
    assert server.codes() == [RequestCode.REGISTER_BROKER]
    assert len(server.sessions) == 2


def test_a_heartbeat_that_came_to_a_paused_broker_counts_when_it_goes_on(
    world: World, broker: Broker, peer: Peer
) -> None:
    heartbeat = {"clientID": "client-1", "producerDataSet": [{"groupName": "senders"}]}
    body = json.dumps(heartbeat).encode()
    peer.ask(RequestCode.HEART_BEAT, body=body)
    broker.pause()
    world.clock.advance("110s")
    answer = peer.send(RequestCode.HEART_BEAT, body=body, timeout_ms=60_000)
    world.clock.advance("20s")
    broker.resume()
    world.network.settle()
    assert answer.response is not None
    assert list(broker.producers.snapshot()) == ["senders"]


def test_who_connects_to_a_paused_broker_waits_too(world: World, broker: Broker) -> None:
    broker.pause()
    peer = world.peer(broker.addr)
    header = GetMaxOffsetRequestHeader(topic="orders", queue_id=0)
    answer = peer.send(RequestCode.GET_MAX_OFFSET, header, timeout_ms=60_000)
    assert not answer.over
    broker.resume()
    world.network.settle()
    assert answer.response is not None


def test_a_paused_broker_can_be_stopped_and_killed(world: World, broker: Broker) -> None:
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


def test_a_closed_connection_is_forgotten(world: World, broker: Broker, peer: Peer) -> None:
    assert len(broker.sessions) == 1
    peer.close()
    assert not broker.sessions


def test_a_broker_killed_while_it_stops_is_gone_at_once(world: World) -> None:
    world.name_server(NS).answer = lambda request: None
    broker = world.broker(namesrv_addrs=(NS,))
    stopped: list[bool] = []
    broker.stop(lambda: stopped.append(True))
    broker.kill()
    assert (broker.state.value, stopped) == ("stopped", [True])
    assert [event.how for event in world.journal.find(NodeStopped)] == ["kill"]


def test_repr(broker: Broker) -> None:
    assert repr(broker) == "<broker broker-a-0 at 127.0.0.1:10911 running>"


def test_reset_gives_back_the_config_to_all_who_look_at_it(world: World) -> None:
    given = BrokerConfig(default_topic_queue_nums=3)
    broker = world.broker(given)
    broker.config.assign({"default_topic_queue_nums": 7, "broker_permission": 4})
    broker.reset()
    assert broker.config is given
    assert (given.default_topic_queue_nums, given.broker_permission) == (3, 6)


def test_a_start_while_it_stops_leaves_one_of_everything(world: World) -> None:
    world.name_server(NS).answer = lambda request: None
    broker = world.broker(namesrv_addrs=(NS,))
    broker.stop()
    assert broker.state.value == "stopping"
    broker.start((NS,))
    assert [timer.kind for timer in world.clock.timers()].count("register_broker") == 1
    world.clock.advance("4s")
    assert broker.state.value == "running"
