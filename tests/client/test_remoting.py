"""Blocking connections: requests, responses, time-outs, reconnects."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from fakemq.client.addresses import split_addr
from fakemq.client.errors import (
    RemotingConnectError,
    RemotingSendRequestError,
    RemotingTimeoutError,
)
from fakemq.client.operation import Call, Operation, ask, tell
from fakemq.client.remoting import BlockingRemoting, local_ip
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from tests.support import broker_scripts as scripts
from tests.support.scripted_broker import BrokerEnd, ScriptedBroker, refused_addr
from tests.support.scripted_operation import TIMEOUT_MS, RequestsSeen


@pytest.fixture
def seen() -> RequestsSeen:
    return RequestsSeen()


@pytest.fixture
def remoting(seen: RequestsSeen) -> Iterator[BlockingRemoting]:
    remoting = BlockingRemoting(seen)
    yield remoting
    remoting.close()


def call(remoting: BlockingRemoting, addr: str, timeout_ms: int = TIMEOUT_MS) -> RemotingCommand:
    response = remoting.call(Call(addr, RemotingCommand(34), timeout_ms))
    assert response is not None
    return response


def test_requests_of_the_broker_are_handled_before_its_answer(
    remoting: BlockingRemoting, seen: RequestsSeen
) -> None:
    with ScriptedBroker(scripts.asks_before_it_answers) as broker:
        assert call(remoting, broker.addr).code == 7
    assert seen == [(broker.addr, scripts.NOTIFY), (broker.addr, scripts.RUNNING_INFO)]


def test_responses_are_matched_to_their_requests(remoting: BlockingRemoting) -> None:
    with ScriptedBroker(scripts.answers_in_reverse) as broker:
        channel = remoting.channel(broker.addr)
        opaques = [channel.send(RemotingCommand(code)) for code in (1, 2)]
        assert [channel.receive(one, TIMEOUT_MS).code for one in opaques] == [1, 2]


def test_requests_sent_together_get_their_responses(remoting: BlockingRemoting) -> None:
    def one_changed() -> Iterator[RemotingCommand]:
        command = RemotingCommand(0)
        for command.code in (1, 2):
            yield command

    with ScriptedBroker(scripts.answers_in_reverse) as broker:
        channel = remoting.channel(broker.addr)
        opaques = channel.send_all(one_changed())
        assert [channel.receive(one, TIMEOUT_MS).code for one in opaques] == [1, 2]


def test_unexpected_response_is_dropped(remoting: BlockingRemoting) -> None:
    with ScriptedBroker(scripts.answers_unasked) as broker:
        assert call(remoting, broker.addr).code == 7


def test_time_out_closes_the_connection(remoting: BlockingRemoting) -> None:
    with ScriptedBroker(scripts.stays_silent, scripts.answers) as broker:
        with pytest.raises(RemotingTimeoutError, match=r"timeout, 30\(ms\)"):
            call(remoting, broker.addr, timeout_ms=30)
        assert call(remoting, broker.addr).code == 0


@pytest.mark.parametrize("script", [scripts.hangs_up, scripts.talks_nonsense])
def test_lost_connection_fails_the_request_and_is_replaced(
    remoting: BlockingRemoting, script: object
) -> None:
    assert callable(script)
    with ScriptedBroker(script, scripts.answers) as broker:
        with pytest.raises(RemotingSendRequestError):
            call(remoting, broker.addr)
        assert call(remoting, broker.addr).code == 0


def test_connection_with_half_a_request_is_replaced(remoting: BlockingRemoting) -> None:
    def half(peer: BrokerEnd) -> None:
        assert peer.socket.recv(100)
        assert peer.socket.recv(1) == b""

    with ScriptedBroker(half, scripts.answers) as broker:
        channel = remoting.channel(broker.addr)
        channel.socket = Interrupted(fileno=channel.socket.detach())
        with pytest.raises(KeyboardInterrupt):
            call(remoting, broker.addr)
        assert channel.closed
        assert call(remoting, broker.addr).code == 0


class Interrupted(socket.socket):
    """A socket whose writer is interrupted by Ctrl-C in the middle of a frame."""

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        self.send(data[:5], flags)
        raise KeyboardInterrupt


def test_connection_lost_while_idle_is_replaced_before_use(
    remoting: BlockingRemoting,
) -> None:
    with ScriptedBroker(scripts.answers, scripts.answers) as broker:
        assert call(remoting, broker.addr).code == 0
        remoting.poll(TIMEOUT_MS)
        assert call(remoting, broker.addr).code == 0


@pytest.mark.parametrize("addr", ["nonsense", "127.0.0.1:x", ":1"])
def test_refused_connection_raises_an_error(remoting: BlockingRemoting, addr: str) -> None:
    with pytest.raises(RemotingConnectError, match="connect to"):
        call(remoting, addr)
    with pytest.raises(RemotingConnectError):
        call(remoting, refused_addr())


def test_failures_are_raised_in_the_operation(remoting: BlockingRemoting) -> None:
    def either(*addrs: str) -> Operation[int]:
        for addr in addrs:
            try:
                response = yield from ask(addr, RemotingCommand(34), TIMEOUT_MS)
            except RemotingConnectError:
                continue
            return response.code
        return -1

    with ScriptedBroker(scripts.answers) as broker:
        assert remoting.run(either(refused_addr(), broker.addr)) == 0
    assert remoting.run(either(refused_addr())) == -1


def test_one_way_request_does_not_wait(remoting: BlockingRemoting) -> None:
    with ScriptedBroker(scripts.hangs_up) as broker:
        command = RemotingCommand(15)
        remoting.run(tell(broker.addr, command, TIMEOUT_MS))
        assert command.flag == FLAG_ONEWAY


def test_polling_without_connections_only_waits(remoting: BlockingRemoting) -> None:
    remoting.poll(0)


def test_addresses_are_parsed() -> None:
    assert split_addr("[::1]:9876") == ("::1", 9876)
    assert local_ip("127.0.0.1:9876") == "127.0.0.1"


def test_connection_that_is_reset_at_once_is_a_connect_error(
    remoting: BlockingRemoting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reset(*arguments: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")  # as macOS says

    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(socket.socket, "setsockopt", reset)
        with pytest.raises(RemotingConnectError):
            call(remoting, f"127.0.0.1:{server.getsockname()[1]}")
