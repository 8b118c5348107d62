"""The carrier in its caller's thread: one call, several at once, functions of users, Ctrl-C."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from fakemq.client.carrier import Answer
from fakemq.client.carriers.callers_thread import CallerCarrier
from fakemq.client.carriers.connections import IDLE_MS
from fakemq.client.carriers.pipeline import Pipeline
from fakemq.client.carriers.turns import Turns
from fakemq.client.errors import (
    MQClientError,
    RemotingConnectError,
    RemotingError,
    RemotingSendRequestError,
    RemotingTimeoutError,
)
from fakemq.client.operation import Operation, tell
from fakemq.client.tasks import Perform, Sleep, Task
from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from tests.support import broker_scripts as scripts
from tests.support.client_shells import asking
from tests.support.scripted_broker import BrokerEnd, ScriptedBroker, refused_addr
from tests.support.scripted_operation import TIMEOUT_MS


@pytest.fixture
def carrier() -> Iterator[CallerCarrier]:
    with closing(CallerCarrier()) as carrier:
        yield carrier


def test_connection_lost_between_two_calls_is_replaced_before_use(carrier: CallerCarrier) -> None:
    with ScriptedBroker(scripts.answers, scripts.answers) as broker:
        assert carrier.run(asking(broker.addr)) == 0
        carrier.poll(TIMEOUT_MS)
        assert carrier.run(asking(broker.addr)) == 0


def answers_twice(peer: BrokerEnd) -> None:
    for _ in range(2):
        scripts.answers(peer)


def closed_after_one_answer(peer: BrokerEnd) -> None:
    scripts.answers(peer)
    assert peer.socket.recv(1) == b"", "the client used it again"


@pytest.mark.parametrize(
    ("passed_ms", "played"),
    [(IDLE_MS - 1_000, [answers_twice]), (IDLE_MS, [closed_after_one_answer, scripts.answers])],
)
def test_connection_that_was_idle_for_two_minutes_is_not_used_again(
    carrier: CallerCarrier,
    monkeypatch: pytest.MonkeyPatch,
    passed_ms: int,
    played: list[Callable[[BrokerEnd], None]],
) -> None:
    with ScriptedBroker(*played) as broker:
        assert carrier.run(asking(broker.addr)) == 0
        later_ms = real_elapsed_ms() + passed_ms
        monkeypatch.setattr(Turns, "elapsed_ms", staticmethod(lambda: later_ms))
        assert carrier.run(asking(broker.addr)) == 0


@pytest.mark.parametrize("addr", ["nonsense", "127.0.0.1:x", ":1"])
def test_address_that_is_none_is_a_failed_connect(carrier: CallerCarrier, addr: str) -> None:
    with pytest.raises(RemotingConnectError, match="connect to"):
        carrier.run(asking(addr))


def test_failure_is_raised_in_the_task(carrier: CallerCarrier) -> None:
    def either(*addrs: str) -> Operation[int]:
        for addr in addrs:
            try:
                return (yield from asking(addr))
            except RemotingConnectError:
                continue
        return -1

    with ScriptedBroker(scripts.answers) as broker:
        assert carrier.run(either(refused_addr(), broker.addr)) == 0
    assert carrier.run(either(refused_addr())) == -1


def test_one_way_request_is_written_before_its_call_returns(carrier: CallerCarrier) -> None:
    def reads_all(peer: BrokerEnd) -> None:
        request = peer.receive()
        assert (request.flag, len(request.body)) == (FLAG_ONEWAY, 8 << 20)

    with ScriptedBroker(reads_all) as broker:
        carrier.run(tell(broker.addr, RemotingCommand(15, body=bytes(8 << 20)), TIMEOUT_MS))
        assert not any(channel.unsent_bytes for channel in carrier._wires)


def test_sleep_passes_without_a_connection(carrier: CallerCarrier) -> None:
    def sleeping() -> Task[str]:
        yield Sleep(20)
        return "awake"

    before_ms = real_elapsed_ms()
    assert carrier.run(sleeping()) == "awake"
    assert real_elapsed_ms() - before_ms >= 19


def test_poll_without_connections_does_not_wait(carrier: CallerCarrier) -> None:
    before_ms = real_elapsed_ms()
    carrier.poll(60_000)
    assert real_elapsed_ms() - before_ms < 30_000


def test_request_of_a_broker_is_answered_in_poll(carrier: CallerCarrier) -> None:
    def asks_later(peer: BrokerEnd) -> None:
        scripts.answers(peer)
        peer.send(RemotingCommand(scripts.NOTIFY, flag=FLAG_ONEWAY))
        assert peer.receive().code == 7

    def on_request(addr: str, request: RemotingCommand, answer: Answer) -> None:
        answer(RemotingCommand(7, flag=FLAG_ONEWAY))

    carrier.on_request = on_request
    with ScriptedBroker(asks_later) as broker:
        assert carrier.run(asking(broker.addr)) == 0
        carrier.poll(TIMEOUT_MS)


# -- functions of users ---------------------------------------------------------------------------


def performing(function: Any) -> Task[object]:
    return (yield Perform(function))


def test_function_may_use_the_carrier(carrier: CallerCarrier) -> None:
    with ScriptedBroker(scripts.answers) as broker:
        assert carrier.run(performing(lambda: carrier.run(asking(broker.addr)))) == 0


def test_error_of_a_function_is_raised_in_its_task(carrier: CallerCarrier) -> None:
    def missing() -> None:
        raise KeyError("missing")

    def caught() -> Task[str]:
        try:
            yield Perform(missing)
        except KeyError as error:
            return repr(error)
        return "no error"

    assert carrier.run(caught()) == "KeyError('missing')"


def test_ctrl_c_in_a_function_ends_the_call(carrier: CallerCarrier) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carrier.run(performing(interrupted))
    assert carrier.run(performing(lambda: 5)) == 5


# -- Ctrl-C ---------------------------------------------------------------------------------------


def test_ctrl_c_while_a_call_waits_keeps_the_connection(
    carrier: CallerCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers_twice(peer: BrokerEnd) -> None:
        scripts.answers(peer)
        scripts.answers(peer)
        scripts.answers(peer)

    with ScriptedBroker(answers_twice) as broker:
        assert carrier.run(asking(broker.addr)) == 0
        select = carrier._selector.select

        def interrupted(timeout: float | None = None) -> object:
            if timeout == 0:
                return select(0)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(carrier._selector, "select", interrupted)
            with pytest.raises(KeyboardInterrupt):
                carrier.run(asking(broker.addr))
        assert carrier.run(asking(broker.addr)) == 0


def test_ctrl_c_within_a_write_replaces_the_connection(carrier: CallerCarrier) -> None:
    def half(peer: BrokerEnd) -> None:
        scripts.answers(peer)
        assert peer.socket.recv(100)
        assert peer.socket.recv(1) == b""

    with ScriptedBroker(half, scripts.answers) as broker:
        assert carrier.run(asking(broker.addr)) == 0
        ((_, wire),) = carrier._wires.items()
        assert wire.socket is not None
        kept, wire.socket = wire.socket, Interrupted(fileno=wire.socket.dup().detach())
        carrier._selector.unregister(kept)
        carrier._selector.register(wire.socket, 1, wire)
        kept.close()
        with pytest.raises(KeyboardInterrupt):
            carrier.run(asking(broker.addr))
        assert carrier.run(asking(broker.addr)) == 0


class Interrupted(socket.socket):
    """A socket whose writer is interrupted by Ctrl-C in the middle of a frame."""

    def send(self, data: Any, flags: int = 0, /) -> int:
        super().send(data[:5], flags)
        raise KeyboardInterrupt


# -- its end --------------------------------------------------------------------------------------


def test_closed_carrier_refuses_calls(carrier: CallerCarrier) -> None:
    assert repr(carrier) == "<carrier in its caller's thread, open>"
    carrier.close()
    carrier.close()
    with pytest.raises(MQClientError, match="this client is closed"):
        carrier.run(asking("127.0.0.1:1"))
    assert repr(carrier) == "<carrier in its caller's thread, closed>"


# -- several requests over one connection ---------------------------------------------------------


def test_requests_sent_together_get_their_responses(carrier: CallerCarrier) -> None:
    def one_changed() -> Iterator[RemotingCommand]:
        command = RemotingCommand(0)
        for command.code in (1, 2):
            yield command

    with ScriptedBroker(scripts.answers_in_reverse) as broker:
        pipeline = Pipeline(carrier, broker.addr)
        numbers = pipeline.send_all(one_changed())
        assert [pipeline.receive(one, TIMEOUT_MS).code for one in numbers] == [1, 2]
        assert repr(pipeline) == f"<requests to {broker.addr}, 0 wait>"


def test_response_that_arrived_survives_the_connection(carrier: CallerCarrier) -> None:
    with ScriptedBroker(scripts.answers) as broker:
        pipeline = Pipeline(carrier, broker.addr)
        first, second = pipeline.send_all([RemotingCommand(1), RemotingCommand(2)])
        with pytest.raises(RemotingSendRequestError):
            pipeline.receive(second, TIMEOUT_MS)
        assert pipeline.receive(first, TIMEOUT_MS).code == 0


def test_late_response_closes_the_connection(carrier: CallerCarrier) -> None:
    with ScriptedBroker(scripts.stays_silent, scripts.answers) as broker:
        pipeline = Pipeline(carrier, broker.addr)
        first, second = pipeline.send_all([RemotingCommand(1), RemotingCommand(2)])
        with pytest.raises(RemotingTimeoutError, match=r"timeout, 30\(ms\)"):
            pipeline.receive(first, 30)
        with pytest.raises(RemotingError):
            pipeline.receive(second, TIMEOUT_MS)
        assert pipeline.receive(pipeline.send(RemotingCommand(3)), TIMEOUT_MS).code == 0


def test_refused_connection_is_the_error_of_each_response(carrier: CallerCarrier) -> None:
    pipeline = Pipeline(carrier, refused_addr())
    number = pipeline.send(RemotingCommand(1))
    with pytest.raises(RemotingConnectError):
        pipeline.receive(number, TIMEOUT_MS)
