"""QUERY_ASSIGNMENT: which queues each member of a group pulls or pops."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab
from tests.support.clients import consume
from tests.support.peer import Peer
from tests.support.pops import GROUP, TOPIC, set_mode

NAMESRV = "127.0.0.1:9876"
ROUTE = {
    "brokerDatas": [],
    "queueDatas": [
        {"brokerName": name, "readQueueNums": 2, "writeQueueNums": 2, "perm": 6}
        for name in ("broker-a", "broker-b")
    ],
}


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    name_server = lab.name_server(NAMESRV)
    route = json.dumps(ROUTE).encode()
    name_server.answer = lambda request: RemotingCommand(
        0, body=route if request.code == RequestCode.GET_ROUTEINFO_BY_TOPIC else b""
    )
    broker = lab.broker(reference=REFERENCE, namesrv_addrs=(NAMESRV,))
    broker.create_topic(TOPIC, 2)
    return broker


def assignment(peer: Peer, client_id: str = "client-1", **fields: str) -> RemotingCommand:
    body = {
        "topic": TOPIC,
        "consumerGroup": GROUP,
        "clientId": client_id,
        "strategyName": "AVG",
        "messageModel": "CLUSTERING",
    } | fields
    return peer.ask(RequestCode5.QUERY_ASSIGNMENT, body=json.dumps(body).encode())


def assigned(answer: RemotingCommand) -> tuple[set[str], list[tuple[str, int]]]:
    """The modes, and the queues in order."""
    found: list[dict[str, Any]] = json.loads(bytes(answer.body))["messageQueueAssignments"]
    queues = [(one["messageQueue"]["brokerName"], one["messageQueue"]["queueId"]) for one in found]
    return {one["mode"] for one in found}, sorted(queues)


ALL = [("broker-a", 0), ("broker-a", 1), ("broker-b", 0), ("broker-b", 1)]


def test_single_member_pulls_all_queues(peer: Peer) -> None:
    consume(peer, group=GROUP)
    assert assigned(assignment(peer)) == ({"PULL"}, ALL)


def test_members_share_the_queues(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    consume(peer, group=GROUP)
    consume(lab.peer(broker.addr, "second"), "client-2", GROUP)
    assert assigned(assignment(peer))[1] == ALL[:2]
    assert assigned(assignment(peer, "client-2"))[1] == ALL[2:]
    assert assigned(assignment(peer, strategyName="AVG_BY_CIRCLE"))[1] == [ALL[0], ALL[2]]


def test_unknown_strategy_assigns_nothing(peer: Peer) -> None:
    consume(peer, group=GROUP)
    assert bytes(assignment(peer, strategyName="MACHINE_ROOM").body) == b"{}"


def test_broadcast_gets_all_queues_without_a_heartbeat(peer: Peer) -> None:
    assert assigned(assignment(peer, messageModel="BROADCASTING"))[1] == ALL


def test_client_of_pop_mode_pops_all_queues_of_each_broker(peer: Peer) -> None:
    consume(peer, group=GROUP)
    assert set_mode(peer).code == 0
    assert assigned(assignment(peer)) == ({"POP"}, [("broker-a", -1), ("broker-b", -1)])


def test_clients_of_pop_mode_may_share_queues_of_the_next(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    consume(peer, group=GROUP)
    for number in (2, 3):
        consume(lab.peer(broker.addr, f"peer {number}"), f"client-{number}", GROUP)
    set_mode(peer, share=1)
    assert assigned(assignment(peer))[1] == ALL[:3]
    assert assigned(assignment(peer, "client-3"))[1] == [ALL[0], ALL[1], ALL[3]]


def test_more_clients_than_queues_share_them_round(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    consume(peer, group=GROUP)
    for number in range(2, 6):
        consume(lab.peer(broker.addr, f"peer {number}"), f"client-{number}", GROUP)
    set_mode(peer, share=1)
    assert assigned(assignment(peer))[1] == [ALL[0]]
    assert assigned(assignment(peer, "client-5"))[1] == [ALL[0]]


def test_retry_topic_is_always_pulled(peer: Peer) -> None:
    consume(peer, group=GROUP)
    assert assigned(assignment(peer, topic=f"%RETRY%{GROUP}"))[0] == {"PULL"}


def test_topic_of_too_many_queues_is_refused(lab: BrokerLab) -> None:
    huge = {"brokerName": "broker-a", "readQueueNums": 2**31 - 1, "writeQueueNums": 1, "perm": 6}
    route = json.dumps(ROUTE | {"queueDatas": [huge]}).encode()
    name_server = lab.name_server(NAMESRV)
    name_server.answer = lambda request: RemotingCommand(
        0, body=route if request.code == RequestCode.GET_ROUTEINFO_BY_TOPIC else b""
    )
    broker = lab.broker(reference=REFERENCE, namesrv_addrs=(NAMESRV,))
    answer = assignment(lab.peer(broker.addr))
    assert (answer.code, answer.remark) == (
        1,
        "the topic[orders] has 2147483647 queues; fakemq looks into 10000 in one request at most",
    )
