"""What faults of requests are limited to, and what is refused when they are placed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fakemq
from fakemq.errors import ConfigError
from fakemq.faults.request_scope import request_scope
from fakemq.protocol.codes import RequestCode
from tests.support.tcp import TcpPeer
from tests.support.tcp_clients import SEND, status_of


def test_fault_applies_within_its_scope(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    there = peer.sock.getsockname()
    scopes: list[dict[str, Any]] = [
        {"topic": "bills"},
        {"queue": 1},
        {"group": "others"},
        {"client": "127.0.0.1:1"},
        {"node": "broker-a-0", "queue": 1},
    ]
    for scope in scopes:
        mq.faults.error(SEND, code=2, must_fire=False, **scope)
    assert status_of(peer) == 0
    mq.faults.clear()
    scopes = [
        {"topic": "orders"},
        {"queue": 0},
        {"group": "producers"},
        {"client": f"{there[0]}:{there[1]}"},
        {"node": "broker-a", "topic": "orders", "queue": 0, "group": "producers"},
    ]
    for scope in scopes:
        mq.faults.error(SEND, code=2, **scope)
        assert status_of(peer) == 2, scope
    assert status_of(peer) == 0


def test_heartbeat_matches_all_its_groups_and_its_client(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    body = (
        b'{"clientID":"10.0.0.1@one","producerDataSet":[{"groupName":"p"}],"consumerDataSet":'
        b'[{"groupName":"c","subscriptionDataSet":[{"topic":"orders"}]}]}'
    )
    scopes: list[dict[str, Any]] = [
        {"group": "p"},
        {"group": "c"},
        {"topic": "orders"},
        {"client": "10.0.0.1@one"},
        {"client": "one"},
    ]
    for scope in scopes:
        mq.faults.error("HEART_BEAT", code=2, **scope)
        assert peer.ask(RequestCode.HEART_BEAT, body=body).code == 2, scope
    assert peer.ask(RequestCode.HEART_BEAT, body=body).code == 0
    mq.faults.error(SEND, code=2, client="one")  # known from now on
    assert status_of(peer) == 2


def test_lock_requests_match_their_queues() -> None:
    body = (
        b'{"clientId":"c","consumerGroup":"g","mqSet":'
        b'[{"topic":"orders","brokerName":"broker-a","queueId":3}]}'
    )
    what = request_scope("n", RequestCode.LOCK_BATCH_MQ, None, body, ())
    assert (what.topic, what.queue, what.group, what.client) == tuple(
        frozenset([value]) for value in ("orders", 3, "g", "c")
    )


@given(st.sampled_from(list(RequestCode)), st.binary(max_size=40))
def test_invalid_bodies_have_a_scope(code: RequestCode, body: bytes) -> None:
    assert request_scope("n", code, None, body, ["c"]).code == code


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (lambda f: f.error("SEND_MESAGE", code=2), "did you mean SEND_MESSAGE"),
        (lambda f: f.error(True, code=2), "request code True: expected a name, a number"),
        (lambda f: f.error("SEND_MESSAGE", code="BUSY"), "no response code 'BUSY'.*SYSTEM_BUSY"),
        (lambda f: f.drop("SEND_MESSAGE", at="before_send"), "expected one of.*before_store"),
        (lambda f: f.drop("SEND_MESSAGE", queue=-1), "queue=-1"),
        (lambda f: f.drop("SEND_MESSAGE", topic=""), "topic=''"),
        (lambda f: f.drop("GET_BROKER_CONFIG", topic="orders"), "names no topic"),
        (lambda f: f.drop("END_TRANSACTION", topic="orders"), "it names group"),
        (lambda f: f.drop("CHECK_TRANSACTION_STATE"), "see drop_call"),
        (lambda f: f.delay("SEND_MESSAGE", "-1s"), "from now on"),
        (lambda f: f.reply("SEND_MESSAGE"), "one of code="),
        (lambda f: f.drop("SEND_MESSAGE", at="before_replicate"), "only kill"),
        (lambda f: f.kill("PULL_MESSAGE", at="before_replicate"), "stores no message"),
        (lambda f: f.kill("SEND_MESSAGE", at="before_replicate", node="namesrv-0"), "for brokers"),
        (lambda f: f.park("SEND_MESSAGE", times=0), "times=0"),
    ],
)
def test_contradicting_scopes_are_refused(mq: fakemq.Cluster, place: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        place(mq.faults)
    assert mq.faults.all() == []


def test_unknown_names_are_refused(mq: fakemq.Cluster) -> None:
    with pytest.raises(LookupError, match="name servers: namesrv-0; did you mean namesrv-0"):
        mq.faults.drop(SEND, node="namesrv-1")
    with pytest.raises(TypeError, match="no topics=; did you mean topic"):
        mq.faults.drop(SEND, topics="orders")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "place",
    [
        lambda faults: faults.drop(SEND, tims=2),
        lambda faults: faults.drop_call("NOTIFY_CONSUMER_IDS_CHANGED", tims=2),
        lambda faults: faults.consumer_list("G", show=["a"], tims=2),
        lambda faults: faults.hold("broker-a", "clients", tims=2),
        lambda faults: faults.reset("broker-a", "clients", tims=2),
        lambda faults: faults.silence("broker-a", tims=2),
        lambda faults: faults.tear_transfer("broker-a", at_byte=1, tims=2),
        lambda faults: faults.tear_last_write("broker-a", tims=2),
    ],
)
def test_unknown_options_are_refused(mq: fakemq.Cluster, place: Any) -> None:
    with pytest.raises(TypeError, match="a fault has no tims=; did you mean times"):
        place(mq.faults)
    assert mq.faults.all() == []
