"""Faults of RPCs as a test places them, seen by a client of another make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest

import fakemq
from fakemq.errors import ArgumentError, ConfigError
from fakemq.events import LinkClosed
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.proxy.status import Code
from tests.support.grpc_client import GrpcClient, grpc_client
from tests.support.proxy_lab import message


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(grpc=True, topics={"normal": 1}) as cluster:
        yield cluster


@pytest.fixture
def client(mq: fakemq.Cluster) -> Iterator[GrpcClient]:
    with grpc_client(mq.grpc_addr) as one:
        yield one


def send(client: GrpcClient, timeout_s: float = 10) -> Any:
    request = m.SendMessageRequest(messages=[message()])
    return client.ask("SendMessage", request, timeout_s=timeout_s, x_mq_client_id="host@c1")


def test_status_of_the_api_reaches_the_client(mq: fakemq.Cluster, client: GrpcClient) -> None:
    fault = mq.faults.grpc(
        "SendMessage", status="TOO_MANY_REQUESTS", topic="normal", client="c1", times=2
    )
    answers = [send(client).status for _ in range(3)]
    assert [one.code for one in answers] == [Code.TOO_MANY_REQUESTS] * 2 + [Code.OK]
    assert answers[0].message == "TOO_MANY_REQUESTS: a fault of the test"
    assert fault.fired == 2
    assert len(mq.messages("normal")) == 1


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("UNAVAILABLE", grpc.StatusCode.UNAVAILABLE),
        (GrpcStatus.NOT_FOUND, grpc.StatusCode.NOT_FOUND),
    ],
)
def test_status_of_grpc_reaches_the_client(
    mq: fakemq.Cluster, client: GrpcClient, given: Any, seen: grpc.StatusCode
) -> None:
    mq.faults.grpc("SendMessage", status=given, text="as if it were down")
    with pytest.raises(grpc.RpcError) as raised:
        send(client)
    assert (raised.value.code(), raised.value.details()) == (seen, "as if it were down")


def test_status_may_be_a_number(mq: fakemq.Cluster) -> None:
    for status in (Code.TOO_MANY_REQUESTS, int(Code.TOO_MANY_REQUESTS)):
        fault = mq.faults.grpc("SendMessage", status=status, must_fire=False)
        assert "status TOO_MANY_REQUESTS" in repr(fault)


def test_lost_answer_ends_with_the_deadline(mq: fakemq.Cluster, client: GrpcClient) -> None:
    mq.faults.grpc_drop("SendMessage", at="before_reply")
    with pytest.raises(grpc.RpcError) as raised:
        send(client, timeout_s=0.2)
    assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert len(mq.messages("normal")) == 1


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ({}, grpc.StatusCode.CANCELLED),
        ({"code": 7}, grpc.StatusCode.UNAVAILABLE),  # REFUSED_STREAM
    ],
)
def test_stream_that_is_reset_is_seen_by_its_code(
    mq: fakemq.Cluster, client: GrpcClient, code: dict[str, Any], seen: grpc.StatusCode
) -> None:
    fault = mq.faults.grpc_reset("SendMessage", **code)
    with pytest.raises(grpc.RpcError) as raised:
        send(client)
    assert raised.value.code() is seen
    assert fault.fired == 1


def test_client_connects_again_after_a_goaway(mq: fakemq.Cluster, client: GrpcClient) -> None:
    assert send(client).status.code == Code.OK
    mq.faults.grpc_goaway("SendMessage")
    with pytest.raises(grpc.RpcError) as raised:
        send(client)
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
    assert send(client).status.code == Code.OK


def test_disconnect_closes_what_is_connected(mq: fakemq.Cluster, client: GrpcClient) -> None:
    states: list[grpc.ChannelConnectivity] = []
    client.channel.subscribe(states.append)
    send(client)
    mq.wait_for(lambda: states[-1:] == [grpc.ChannelConnectivity.READY], timeout="5s")
    fault = mq.faults.grpc_disconnect()
    assert (fault.fired, mq.faults.unused()) == (1, [])
    mq.wait_for(lambda: [one.peer for one in mq.journal.find(LinkClosed)] != [], timeout="5s")
    # Until the client has seen it, it would send over the connection that was closed.
    mq.wait_for(lambda: states[-1] != grpc.ChannelConnectivity.READY, timeout="5s")
    assert send(client).status.code == Code.OK


def test_disconnect_of_an_unknown_client_is_an_error(mq: fakemq.Cluster) -> None:
    with pytest.raises(LookupError, match="there is no connection of 'c9' to proxy-0"):
        mq.faults.grpc_disconnect(client="c9")


def test_faults_of_requests_act_behind_the_front(mq: fakemq.Cluster, client: GrpcClient) -> None:
    mq.faults.error("SEND_MESSAGE_V2", topic="normal", code="SYSTEM_BUSY")
    assert send(client).status.code == Code.TOO_MANY_REQUESTS


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rpc": "SendMesage"}, "there is no RPC 'SendMesage'; did you mean SendMessage"),
        ({"status": "TOO_MANY"}, "there is no status 'TOO_MANY'"),
        ({"status": -1}, "there is no status -1"),
        ({"status": True}, "status=True: expected a name, a number or a Code"),
        ({"status": None}, "status=None: expected a name, a number or a Code"),
        ({"rpc": None}, "rpc=None: expected text"),
        ({"group": "g"}, "a SendMessage names no group: group= can never apply; it names topic"),
        ({"at": "never"}, "at='never': expected one of before_store, before_reply"),
        ({"topic": ""}, "topic='': expected a name"),
    ],
)
def test_wrong_argument_is_refused(mq: fakemq.Cluster, wrong: dict[str, Any], says: str) -> None:
    arguments = {"rpc": "SendMessage", "status": "FORBIDDEN", **wrong}
    with pytest.raises(ConfigError, match=says):
        mq.faults.grpc(**arguments)


def test_unknown_limit_is_refused(mq: fakemq.Cluster) -> None:
    with pytest.raises(ArgumentError, match="a fault has no node="):
        mq.faults.grpc("SendMessage", status="FORBIDDEN", node="broker-a")  # type: ignore[call-arg]


def test_answer_is_left_open_only_before_it_leaves(mq: fakemq.Cluster) -> None:
    with pytest.raises(ConfigError, match="only at before_reply"):
        mq.faults.grpc_leave_open("SendMessage", at="before_store")


def test_cluster_without_a_front_says_how_to_get_one() -> None:
    with (
        fakemq.Cluster() as mq,
        pytest.raises(ConfigError, match="no gRPC front: start it with grpc=True"),
    ):
        mq.faults.grpc("SendMessage", status="FORBIDDEN")


def test_fault_that_never_acts_names_similar_calls(mq: fakemq.Cluster, client: GrpcClient) -> None:
    fault = mq.faults.grpc("SendMessage", status="FORBIDDEN", topic="other", must_fire=False)
    send(client)
    assert not fault.used
    assert "with topic=normal 1 time" in fault.missed


def test_link_of_the_front_can_be_cut(mq: fakemq.Cluster, client: GrpcClient) -> None:
    assert send(client).status.code == Code.OK
    with mq.partition("clients", "proxy-0"), pytest.raises(grpc.RpcError) as raised:
        send(client, timeout_s=0.2)
    assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert send(client).status.code == Code.OK


def test_links_of_the_front_speak_grpc_alone(mq: fakemq.Cluster, client: GrpcClient) -> None:
    for other in ("ha", "remoting"):
        with pytest.raises(ConfigError, match=f"no {other} link between them"):
            mq.faults.latency("clients", "proxy-0", "1ms", link=other)
    fault = mq.faults.latency("clients", "proxy-0", "1ms", link="grpc")
    assert send(client).status.code == Code.OK
    assert fault.fired == 1


def test_link_between_front_and_broker_is_refused(mq: fakemq.Cluster) -> None:
    with pytest.raises(ConfigError, match="asks nodes of its cluster without a connection"):
        mq.partition("proxy-0", "broker-a")
