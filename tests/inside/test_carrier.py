"""The carrier and the life of a program inside a cluster: requests, user functions, the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator

import pytest

from fakemq.client.errors import (
    RemotingConnectError,
    RemotingError,
    RemotingSendRequestError,
    RemotingTimeoutError,
)
from fakemq.client.messages import SendResult, SendStatus
from fakemq.client.operation import Call
from fakemq.client.tasks import Perform, Signal, Sleep, Task, Wait
from fakemq.errors import FakemqError
from fakemq.events import NodeStopped
from fakemq.inside.performing import WaitsForLoopError
from fakemq.inside.program import InsideProgram
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from tests.support.inside_lab import BROKER, InsideLab

TIMEOUT_MS = 3_000


@pytest.fixture
def lab() -> InsideLab:
    return InsideLab()


class Asking:
    """Asks for a broker's config after a while; records the result and its time."""

    def __init__(self, program: InsideProgram, addr: str = BROKER, wait_ms: int = 0) -> None:
        self.program = program
        self._result: RemotingCommand | RemotingError | None = None
        self.at_ms = -1
        program.services.tasks.start(self._task(addr, wait_ms))

    def result(self) -> RemotingCommand | RemotingError | None:
        return self._result

    def _task(self, addr: str, wait_ms: int) -> Task[None]:
        yield Sleep(wait_ms)
        try:
            command = self.program.instance.command(RequestCode.GET_BROKER_CONFIG)
            self._result = yield Call(addr, command, TIMEOUT_MS)
        except RemotingError as error:
            self._result = error
        self.at_ms = self.program.clock.elapsed_ms()


def test_response_arrives_at_the_moment_of_the_request(lab: InsideLab) -> None:
    asking = Asking(lab.program(), wait_ms=70)
    began_ms = lab.core.clock.elapsed_ms()
    lab.core.advance(69)
    assert asking.result() is None
    lab.core.advance(1)
    response = asking.result()
    assert isinstance(response, RemotingCommand)
    assert response.code == ResponseCode.SUCCESS
    assert asking.at_ms == began_ms + 70


def test_broker_that_is_down_refuses_the_connection(lab: InsideLab) -> None:
    lab.core.broker("broker-a").kill()
    asking = Asking(lab.program())
    lab.core.settle()
    assert isinstance(asking.result(), RemotingConnectError)


def test_broker_that_is_silent_exhausts_the_time(lab: InsideLab) -> None:
    lab.core.broker("broker-a").pause()
    asking = Asking(lab.program())
    lab.core.advance(TIMEOUT_MS - 1)
    assert asking.result() is None
    lab.core.advance(1)
    assert isinstance(asking.result(), RemotingTimeoutError)
    assert asking.program.carrier.outbound.session(BROKER) is None, "as in Java, it is closed"


def test_lost_connection_is_an_error(lab: InsideLab) -> None:
    lab.core.broker("broker-a").pause()
    asking = Asking(lab.program())
    lab.core.advance(10)
    lab.core.broker("broker-a").kill()
    lab.core.settle()
    assert isinstance(asking.result(), RemotingSendRequestError)


def test_oneway_request_ends_at_once_or_at_a_refused_connection(lab: InsideLab) -> None:
    def asking() -> Task[RemotingCommand | None]:
        command = RemotingCommand(RequestCode.GET_BROKER_CONFIG, flag=FLAG_ONEWAY)
        response: RemotingCommand | None = yield Call(BROKER, command, TIMEOUT_MS)
        return response

    program = lab.program()
    assert lab.run(program, asking()) is None
    lab.core.broker("broker-a").kill()
    lab.core.settle()
    with pytest.raises(RemotingConnectError):
        lab.run(program, asking())


@pytest.mark.parametrize("end", ["kill", "vanish", "close", "reset"])
def test_ended_program_does_nothing_more(lab: InsideLab, end: str) -> None:
    program = lab.program()
    asking = Asking(program, wait_ms=50)
    if end == "reset":
        lab.core.reset()
    elif end == "close":
        program.close()
    else:
        program.kill(silently=end == "vanish")
    assert not [one for one in lab.core.clock.timers() if one.owner == program.name]
    lab.core.advance(60_000)
    assert asking.result() is None
    assert not program.alive
    assert len(lab.core.guests) == 0


def test_cancelled_timers_are_forgotten(lab: InsideLab) -> None:
    program = lab.program()
    signal = Signal()

    def waiting() -> Task[None]:
        for _ in range(10):
            yield Wait(signal, 60_000)
            signal.clear()

    program.services.tasks.start(waiting())
    for _ in range(10):
        signal.set()
    assert not [one for one in lab.core.clock.timers() if one.owner == program.name]
    assert not program.clock._timers


# -- functions of users -------------------------------------------------------------------------


def performing(function: Callable[..., object], *args: object) -> Task[object]:
    return (yield Perform(function, args))


def test_function_is_called_with_its_arguments(lab: InsideLab) -> None:
    assert lab.run(lab.program(), performing(lambda *args: args, 1, "a")) == (1, "a")


def test_error_of_a_function_reaches_its_task(lab: InsideLab) -> None:
    def fail() -> None:
        pytest.fail("not so")

    with pytest.raises(pytest.fail.Exception, match="not so"):
        lab.run(lab.program(), performing(fail))


def test_ten_thousand_functions_do_not_grow_the_stack(lab: InsideLab) -> None:
    def counting() -> Task[int]:
        total = 0
        for _ in range(10_000):
            total += yield Perform(int, ("1",))
        return total

    assert lab.run(lab.program(), counting()) == 10_000


def test_function_may_send_and_is_answered_at_once(lab: InsideLab) -> None:
    program, other = lab.program(), lab.program()
    for body in (b"0", b"1", b"2"):
        result = lab.run(program, performing(lab.send, other, body))
        assert isinstance(result, SendResult)
        assert result.status is SendStatus.SEND_OK
    assert lab.bodies() == [b"0", b"1", b"2"]


def test_functions_of_others_wait_for_the_end_of_one_that_sends(lab: InsideLab) -> None:
    program = lab.program()
    order: list[str] = []

    def sending() -> None:
        program.services.tasks.start(performing(order.append, "other"))
        lab.send(program, b"x")
        order.append("sent")

    lab.run(program, performing(sending))
    lab.core.settle()
    assert order == ["sent", "other"]


def test_function_may_wait_for_the_function_of_another(lab: InsideLab) -> None:
    program = lab.program()

    def waiting() -> object:
        return lab.run(program, performing(lambda: "from the other"))

    assert lab.run(program, performing(waiting)) == "from the other"


def test_functions_that_begin_each_other_do_not_grow_the_stack(lab: InsideLab) -> None:
    program = lab.program()
    calls: list[int] = []

    def next_one(number: int) -> None:
        calls.append(number)
        if number < 2_000:
            program.services.tasks.start(performing(next_one, number + 1))
            lab.send(program, b"x")

    lab.run(program, performing(next_one, 0))
    lab.core.settle()
    assert calls == list(range(2_001))


def test_function_cannot_move_time(lab: InsideLab) -> None:
    program = lab.program()
    for move in (lambda: lab.core.advance(1), lab.core.settle):
        with pytest.raises(FakemqError, match="a client inside the cluster calls a function"):
            lab.run(program, performing(move))
    lab.core.advance(1)


def test_cancelled_task_is_not_resumed_by_its_function(lab: InsideLab) -> None:
    program = lab.program()
    called: list[str] = []
    running = program.services.tasks.start(performing(called.append, "x"))
    program.services.tasks.cancel(running)
    lab.core.settle()
    assert called == []


def test_coroutine_that_awaits_no_loop_is_run_to_its_end(lab: InsideLab) -> None:
    program = lab.program()

    async def inner() -> int:
        return lab.send(program, b"x").queue_offset

    async def outer(more: int) -> int:
        return await inner() + more

    assert lab.run(program, performing(outer, 7)) == 7


def test_coroutine_that_awaits_a_loop_is_refused_and_closed(lab: InsideLab) -> None:
    ended: list[str] = []

    async def sleeping() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append("closed")

    with pytest.raises(WaitsForLoopError, match="sleeping awaits an event loop"):
        lab.run(lab.program(), performing(sleeping))
    assert ended == ["closed"]


def test_coroutine_that_awaits_a_loop_in_its_end_too_is_refused(lab: InsideLab) -> None:
    async def sleeping() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)

    with pytest.raises(WaitsForLoopError, match="sleeping awaits an event loop"):
        lab.run(lab.program(), performing(sleeping))


def test_generator_takes_time_of_the_cluster(lab: InsideLab) -> None:
    program, times_ms = lab.program(), []
    began_ms = lab.core.clock.elapsed_ms()

    def slow(steps: int) -> Generator[str | float, None, str]:
        for _ in range(steps):
            times_ms.append(lab.core.clock.elapsed_ms() - began_ms)
            yield "20m"
        lab.send(program, b"done")
        yield 0.5
        return "its result"

    outcome = program.begin(performing(slow, 2), "slow")
    lab.core.advance(40 * 60_000)
    assert times_ms == [0, 20 * 60_000]
    assert lab.bodies() == [b"done"]
    assert not outcome.done
    lab.core.advance(500)
    assert outcome.result() == "its result"


def test_generator_that_yields_no_duration_fails(lab: InsideLab) -> None:
    def wrong() -> Generator[object, None, None]:
        yield object()

    with pytest.raises(ValueError, match="the pause that was yielded"):
        lab.run(lab.program(), performing(wrong))


def test_cancelled_generator_is_closed(lab: InsideLab) -> None:
    program, ended = lab.program(), []

    def slow() -> Generator[str, None, None]:
        try:
            yield "1s"
        finally:
            ended.append("closed")

    program.begin(performing(slow), "slow").abandon()
    assert ended == ["closed"]


# -- the end ------------------------------------------------------------------------------------


def test_unfinished_task_learns_of_the_end_of_its_program(lab: InsideLab) -> None:
    program = lab.program()

    def sleeping() -> Task[None]:
        yield Sleep(1_000)

    outcome = program.begin(sleeping(), "sleep")
    ended: list[bool] = []
    outcome.when_done(lambda: ended.append(outcome.done))
    assert not outcome.done
    program.kill()
    assert ended == [True]
    with pytest.raises(FakemqError, match=r"asker@inside-1 ended before it was done"):
        outcome.result()


def test_stop_of_the_cluster_closes_its_guests(lab: InsideLab) -> None:
    program = lab.program()
    program.instance.producer_groups["group"] = None
    lab.send(program, b"x")
    lab.run(program, program.instance.heartbeat())
    broker = lab.core.broker("broker-a")
    assert "group" in broker.producers.groups()
    lab.core.close_guests()
    assert "group" not in broker.producers.groups()
    assert not program.alive


def test_program_that_a_function_closes_ends_once(lab: InsideLab) -> None:
    program = lab.program()
    program.services.tasks.start(performing(program.close))
    program.close()
    assert len(lab.core.journal.find(NodeStopped, node=program.name)) == 1


def test_names_begin_anew_after_a_reset(lab: InsideLab) -> None:
    names = [lab.program().name, lab.program("billing").name]
    assert names == ["asker@inside-1", "billing@inside-2"]
    lab.core.reset()
    assert lab.program().name == "asker@inside-1"


def test_guest_survives_a_restored_snapshot(lab: InsideLab) -> None:
    from fakemq.core.snapshots import Snapshot

    program = lab.program()
    lab.send(program, b"kept")
    snapshot = Snapshot.of(lab.core.brokers, lab.core.name_servers)
    lab.send(program, b"gone")
    lab.core.restore(snapshot)
    lab.send(program, b"new")
    assert lab.bodies() == [b"kept", b"new"]
