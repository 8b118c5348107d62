"""Consumer lists that differ, and leases that end when a test says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fakemq
from fakemq.errors import ConfigError
from fakemq.events import BrokerGone, MemberChanged, QueuesLocked, RequestHandled
from fakemq.events.faults import FaultHit
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.client import GetConsumerListByGroupRequestHeader
from tests.support.tcp import TcpPeer
from tests.support.tcp_clients import beat


def listed(peer: TcpPeer, group: str = "g") -> list[str]:
    header = GetConsumerListByGroupRequestHeader(consumer_group=group)
    answer = peer.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)
    return list(json.loads(answer.body)["consumerIdList"])


def locked(peer: TcpPeer, client: str, *queues: int) -> list[int]:
    body = {
        "clientId": client,
        "consumerGroup": "g",
        "mqSet": [
            {"topic": "orders", "brokerName": "broker-a", "queueId": queue} for queue in queues
        ],
    }
    answer = peer.ask(RequestCode.LOCK_BATCH_MQ, body=json.dumps(body).encode())
    return sorted(queue["queueId"] for queue in json.loads(answer.body)["lockOKMQSet"])


def test_two_consumers_see_different_member_lists(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    fault = mq.faults.consumer_list("g", client="one", hide=["two"])
    again = mq.faults.consumer_list("g", client="10.0.0.1@two", show=["two", "ghost"], times=1)
    with TcpPeer(mq.broker("broker-a").addr) as other:
        beat(peer, "10.0.0.1@one", "g")
        assert listed(peer) == ["10.0.0.1@one"]
        assert fault.fired == 0  # there was no member to hide
        beat(other, "10.0.0.1@two", "g")
        assert listed(peer) == ["10.0.0.1@one"]
        assert listed(other) == ["10.0.0.1@two", "ghost"]
        assert listed(other) == ["10.0.0.1@one", "10.0.0.1@two"]
        fault.remove()
        assert listed(peer) == ["10.0.0.1@one", "10.0.0.1@two"]
    assert (fault.fired, again.fired) == (1, 1)
    entries = list(mq.journal)
    for hit in (one for one in entries if isinstance(one.event, FaultHit)):
        assert [type(one.event) for one in entries if one.cause == hit.seq] == [RequestHandled]


def test_locks_expire_on_request(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    assert locked(peer, "one", 0, 1) == [0, 1]
    assert locked(peer, "two", 0, 1) == []
    fault = mq.faults.expire_locks("g", queue=0)
    assert (fault.fired, fault.pending) == (1, False)
    assert mq.journal.find(QueuesLocked, how="expired", client_id="one", count=1)
    assert locked(peer, "two", 0, 1) == [0]
    mq.faults.expire_locks("g", client="one", node="broker-a", topic="orders")
    assert locked(peer, "two", 0, 1) == [0, 1]
    with pytest.raises(LookupError, match="found none at broker-a-0"):
        mq.faults.expire_locks("g", client="one")
    assert len(mq.faults.all()) == 2


def test_client_is_expired_on_request(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    with TcpPeer(mq.broker("broker-a").addr) as other:
        beat(peer, "10.0.0.1@one", "g")
        beat(other, "10.0.0.1@two", "g")
        mq.faults.expire_client("one")
        peer.sock.settimeout(5)
        while peer.sock.recv(1 << 16):
            pass
        assert [member.client_id for member in mq.group("g").members()] == ["10.0.0.1@two"]
    [gone] = mq.journal.find(MemberChanged, how="expired")
    assert gone.client_id == "10.0.0.1@one"
    with pytest.raises(LookupError, match="expire client, client=one"):
        mq.faults.expire_client("one")


def test_broker_is_expired_until_it_registers_again() -> None:
    with fakemq.Cluster(namesrvs=2, clock="frozen") as mq:
        fault = mq.faults.expire_broker("broker-a", namesrv=1)
        assert [gone.node for gone in mq.journal.find(BrokerGone, why="expired")] == ["namesrv-1"]
        assert fault.fired == 1
        with pytest.raises(LookupError, match="at namesrv-1"):
            mq.faults.expire_broker("broker-a", namesrv="namesrv-1")
        mq.clock.advance("30s")
        assert mq.faults.expire_broker("broker-a").fired == 2


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (lambda f: f.consumer_list("g"), "one of show= and hide="),
        (lambda f: f.consumer_list("g", show=["a"], hide=["b"]), "one of show= and hide="),
        (lambda f: f.consumer_list("g", hide="abc"), "expected a list of client ids"),
        (lambda f: f.expire_locks(""), "group=''"),
    ],
)
def test_contradicting_options_are_refused(mq: fakemq.Cluster, place: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        place(mq.faults)
