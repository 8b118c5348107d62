"""Peers over real sockets, good and hostile, for each carrier."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from fakemq.client.carrier import Answer
from fakemq.client.errors import (
    RemotingConnectError,
    RemotingSendRequestError,
    RemotingTimeoutError,
)
from fakemq.client.operation import Operation
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from tests.support import broker_scripts as scripts
from tests.support.client_shells import SHELLS, Play, asking, asking_again
from tests.support.scripted_broker import BrokerEnd, ScriptedBroker, refused_addr, respond

SHORT_MS = 60
"""A time-out that a test waits for."""

MIB = 1 << 20


@pytest.fixture(params=SHELLS)
def play(request: pytest.FixtureRequest) -> Play:
    return SHELLS[request.param]


def both(outcomes: list[object]) -> list[object]:
    """The two outcomes of the only task."""
    (found,) = outcomes
    assert isinstance(found, list)
    return found


def test_responses_are_matched_to_their_requests(play: Play) -> None:
    with ScriptedBroker(scripts.answers_in_reverse) as broker:
        assert play(asking(broker.addr, 1), asking(broker.addr, 2)) == [1, 2]


def test_large_request_and_response_are_carried_whole(play: Play) -> None:
    def echoes(peer: BrokerEnd) -> None:
        request = peer.receive()
        assert request.body == bytes(8 * MIB)
        response = respond(request, 5)
        response.body = request.body
        peer.send(response)

    with ScriptedBroker(echoes) as broker:
        assert play(asking(broker.addr, body_bytes=8 * MIB)) == [5]


def test_requests_of_the_broker_are_handled_before_its_answer(play: Play) -> None:
    seen: list[int] = []

    def on_request(addr: str, request: RemotingCommand, answer: Answer) -> None:
        seen.append(request.code)
        if not request.is_oneway:
            answer(RemotingCommand(3, flag=FLAG_RESPONSE, opaque=request.opaque))

    with ScriptedBroker(scripts.asks_before_it_answers) as broker:
        assert play(asking(broker.addr), on_request=on_request) == [7]
    assert seen == [scripts.NOTIFY, scripts.RUNNING_INFO]


def test_host_name_is_resolved(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with ScriptedBroker(scripts.answers) as broker:
        host, _, port = broker.addr.partition(":")
        # Two addresses as of a host with IPv6: the first one refuses.
        refused = refused_addr().rpartition(":")[2]
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, int(one))) for one in (refused, port)
        ]

        def look_up(name: str, *_: object, **__: object) -> list[object]:
            asked.append(name)
            return list(found)

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        assert play(asking(f"broker.example:{port}")) == [0]
    assert asked == ["broker.example"]


def test_unknown_host_is_a_failed_connect(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    (error,) = play(asking("broker.example:1"))
    assert isinstance(error, RemotingConnectError)


@pytest.mark.parametrize("play", [one for one in SHELLS if one != "caller"], indirect=True)
def test_resolver_that_hangs_holds_up_no_other_request(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the thread of the caller there is no other to resolve names."""
    over = threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        over.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    try:
        with ScriptedBroker(scripts.answers) as broker:
            hanging = asking("broker.example:1", timeout_ms=SHORT_MS)
            error, code = play(hanging, asking(broker.addr))
    finally:
        over.set()
    assert isinstance(error, RemotingTimeoutError)
    assert code == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
def test_refused_connection_is_a_failed_connect(play: Play, host: str) -> None:
    port = refused_addr().rpartition(":")[2]
    (error,) = play(asking(f"{host}:{port}"))
    assert isinstance(error, RemotingConnectError)
    assert isinstance(error, ConnectionError)


def test_response_with_a_wrong_opaque_is_ignored(play: Play) -> None:
    with ScriptedBroker(scripts.answers_unasked) as broker:
        assert play(asking(broker.addr)) == [7]


# -- peers that do not answer ---------------------------------------------------------------------


def test_silent_peer_is_left_and_connected_again(play: Play) -> None:
    with ScriptedBroker(scripts.stays_silent, scripts.answers) as broker:
        error, code = both(play(asking_again(broker.addr, timeout_ms=SHORT_MS)))
    assert isinstance(error, RemotingTimeoutError)
    assert isinstance(error, TimeoutError)
    assert code == 0


def test_peer_that_never_accepts_is_left(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakemq.client.carriers.connections.CONNECT_TIMEOUT_MS", SHORT_MS)
    with full_backlog() as addr:
        (error,) = play(asking(addr))
    assert isinstance(error, RemotingConnectError)


@contextmanager
def full_backlog() -> Iterator[str]:
    """A listener whose queue is full: the system answers no further attempt to connect."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        try:
            for one in waiting:
                one.setblocking(False)
                one.connect_ex(address)
            yield f"127.0.0.1:{address[1]}"
        finally:
            for one in waiting:
                one.close()


def test_peer_that_never_reads_is_left(play: Play) -> None:
    def never_reads(peer: BrokerEnd) -> None:
        assert over.wait(5)

    over = threading.Event()
    with ScriptedBroker(never_reads) as broker:
        errors = play(
            *[asking(broker.addr, timeout_ms=SHORT_MS, body_bytes=15 * MIB) for _ in range(2)]
        )
        over.set()
    assert {type(one) for one in errors} <= {RemotingTimeoutError, RemotingSendRequestError}
    assert any(isinstance(one, RemotingTimeoutError) for one in errors)


# -- peers that end the connection ----------------------------------------------------------------


def hangs_up_at_once(peer: BrokerEnd) -> None:
    pass


def resets(peer: BrokerEnd) -> None:
    peer.receive()
    linger = b"\1\0\0\0\0\0\0\0"
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def hangs_up_within_a_request(peer: BrokerEnd) -> None:
    peer.socket.recv(10)


def hangs_up_within_a_response(peer: BrokerEnd) -> None:
    peer.receive()
    peer.socket.sendall(b"\0\0\1\0\0\0\0\x80{")


def sends(data: bytes) -> Callable[[BrokerEnd], None]:
    def script(peer: BrokerEnd) -> None:
        peer.receive()
        peer.socket.sendall(data)
        assert peer.socket.recv(1) == b"", "the client closes the connection"

    return script


LOSSES: dict[str, Callable[[BrokerEnd], None]] = {
    "at once": hangs_up_at_once,
    "after a request": scripts.hangs_up,
    "reset": resets,
    "within a request": hangs_up_within_a_request,
    "within a response": hangs_up_within_a_response,
    "HTTP": sends(b"HTTP/1.1 200 OK\r\n\r\n"),
    "garbage": sends(b"\xff" * 100),
    "oversize frame": sends(b"\x7f\xff\xff\xff" + bytes(100)),
    "header beyond the frame": sends(b"\0\0\0\x10\0\xff\xff\xff" + bytes(12)),
    "no JSON": sends(b"\0\0\0\x06\0\0\0\x02{["),
}


@pytest.mark.parametrize("name", LOSSES)
def test_lost_connection_fails_its_request_and_is_replaced(play: Play, name: str) -> None:
    with ScriptedBroker(LOSSES[name], scripts.answers) as broker:
        error, code = both(play(asking_again(broker.addr)))
    assert isinstance(error, RemotingSendRequestError)
    assert code == 0


def test_connection_lost_while_idle_is_replaced(play: Play) -> None:
    def asking_thrice(addr: str) -> Operation[list[object]]:
        outcomes = yield from asking_again(addr)
        if outcomes[-1] != 0:  # written before the end of the first connection was noticed
            assert isinstance(outcomes.pop(), RemotingSendRequestError)
            outcomes.append((yield from asking(addr)))
        return outcomes

    with ScriptedBroker(scripts.answers, scripts.answers) as broker:
        assert play(asking_thrice(broker.addr)) == [[0, 0]]
