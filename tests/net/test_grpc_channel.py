"""The client's end of a gRPC connection, over a memory link to the server's end."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.net.grpc_call import GrpcCall, RpcRoute
from fakemq.net.grpc_channel import ClientCall, GrpcChannel
from fakemq.net.grpc_session import GrpcSession
from fakemq.net.memory import MemoryNetwork
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.protocol.grpc.table import BY_NAME, RPCS
from tests.support.grpc_lab import GrpcLab

ADDR = "127.0.0.1:8081"


class Pair:
    """A channel, and the calls that its server got."""

    def __init__(self) -> None:
        self.network = MemoryNetwork()
        self.calls: list[tuple[GrpcCall[Any, Any], Any]] = []
        lab = GrpcLab()
        routes = {
            rpc.path: RpcRoute(rpc, lambda call, first: self._take(call, first)) for rpc in RPCS
        }
        self.sessions: list[GrpcSession] = []

        def accept(link: Any) -> GrpcSession:
            self.sessions.append(GrpcSession(link, lab, routes))
            return self.sessions[-1]

        self.network.listen(ADDR, accept, "proxy-0")
        channel = self.network.connect(ADDR, "me", lambda link: GrpcChannel(link, "me", ADDR))
        assert channel is not None
        self.channel = channel

    def _take(self, call: GrpcCall[Any, Any], first: Any) -> None:
        self.calls.append((call, first))

    def ask(self, name: str = "SendMessage", timeout_ms: int | None = None) -> ClientCall:
        rpc = BY_NAME[name]
        call = self.channel.call(rpc, {"x-mq-client-id": "me"}, timeout_ms)
        call.send(rpc.request(), end=not rpc.request_stream)
        self.network.settle()
        return call


@pytest.fixture
def pair() -> Pair:
    return Pair()


def test_call_has_metadata_and_gets_an_answer(pair: Pair) -> None:
    call = pair.ask(timeout_ms=3_000)
    (served, request) = pair.calls[0]
    assert served.metadata["x-mq-client-id"] == "me"
    assert served.metadata[":authority"] == ADDR
    assert request == m.SendMessageRequest()
    assert served.remaining_ms() is not None
    assert not call.answers
    served.reply(m.SendMessageResponse(status=m.Status(code=m.Code.OK)))
    pair.network.settle()
    assert call.status is GrpcStatus.OK
    assert [one.status.code for one in call.answers] == [m.Code.OK]


def test_stream_gets_messages_one_by_one_and_sends_more(pair: Pair) -> None:
    call = pair.ask("Telemetry")
    taken: list[Any] = []
    call.on_message = taken.append
    served, _ = pair.calls[0]
    more: list[Any] = []
    served.on_message = more.append
    for _ in range(2):
        served.send(m.TelemetryCommand(status=m.Status(code=m.Code.OK)))
    call.send(m.TelemetryCommand(), end=False)
    pair.network.settle()
    assert (len(taken), len(more), call.status) == (2, 1, None)


def test_refusal_is_the_status_of_the_call(pair: Pair) -> None:
    call = pair.ask()
    ended: list[bool] = []
    call.on_end = lambda: ended.append(True)
    pair.calls[0][0].end(GrpcStatus.UNIMPLEMENTED, "no such thing")
    pair.network.settle()
    assert (call.status, call.text, ended) == (GrpcStatus.UNIMPLEMENTED, "no such thing", [True])


def test_call_that_is_cancelled_is_closed_at_the_server(pair: Pair) -> None:
    call = pair.ask("ReceiveMessage")
    closed: list[bool] = []
    served = pair.calls[0][0]
    served.on_closed = lambda: closed.append(True)
    call.cancel()
    pair.network.settle()
    assert call.status is GrpcStatus.CANCELLED
    assert closed == [True]
    assert served.closed


def test_end_of_the_connection_ends_its_calls(pair: Pair) -> None:
    call = pair.ask()
    pair.sessions[0].close("proxy stop")
    pair.network.settle()
    assert call.status is GrpcStatus.UNAVAILABLE
    assert pair.channel.closed
    assert pair.ask().status is GrpcStatus.UNAVAILABLE


def test_server_sees_nothing_of_a_client_that_vanishes(pair: Pair) -> None:
    call = pair.ask()
    pair.channel.vanish()
    pair.calls[0][0].reply(m.SendMessageResponse())
    pair.network.settle()
    assert call.status is None
    assert not pair.sessions[0].closed


def test_bytes_that_no_server_sends_close_the_connection(pair: Pair) -> None:
    call = pair.ask()
    pair.channel.data_received(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    pair.network.settle()
    assert call.status is GrpcStatus.UNAVAILABLE
    assert pair.channel.violation
    assert pair.sessions[0].closed
