"""The carrier in an event loop: functions of users, cancellation, its end."""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from fakemq.client.carriers.asynchronous import AsyncCarrier
from fakemq.client.errors import MQClientError, RemotingConnectError
from fakemq.client.tasks import Perform, Signal, Sleep, Task, Wait
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from tests.support import broker_scripts as scripts
from tests.support.client_shells import asking
from tests.support.forking import in_child
from tests.support.scripted_broker import BrokerEnd, ScriptedBroker, refused_addr

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Noting:
    """A task that waits for a signal, and notes how far it came."""

    def __init__(self) -> None:
        self.signal = Signal()
        self.notes: list[str] = []

    def task(self) -> Task[None]:
        try:
            self.notes.append("begun")
            yield Wait(self.signal)
            self.notes.append("set")
        finally:
            self.notes.append("over")


def performing(*functions: object) -> Task[list[object]]:
    results: list[object] = []
    for function in functions:
        assert callable(function)
        results.append((yield Perform(function)))
    return results


def sleeping(ms: int) -> Task[str]:
    yield Sleep(ms)
    return "awake"


def at_once() -> Task[str]:
    yield from ()
    return "done"


# -- calls ----------------------------------------------------------------------------------------


async def test_run_returns_the_result_of_a_task() -> None:
    async with AsyncCarrier() as carrier:
        assert await carrier.run(sleeping(2)) == "awake"
        assert await carrier.run(sleeping(0)) == "awake"
        assert await carrier.run(at_once()) == "done"


async def test_calls_that_wait_for_nothing_let_other_tasks_run() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with AsyncCarrier() as carrier, anyio.create_task_group() as group:
        group.start_soon(others)
        for _ in range(10):
            await carrier.run(at_once())
        group.cancel_scope.cancel()
    assert turns >= 5


async def test_result_of_a_call_that_waits_for_nothing_survives_a_cancellation() -> None:
    async with AsyncCarrier() as carrier:
        with anyio.CancelScope() as scope:
            scope.cancel()
            assert await carrier.run(at_once()) == "done"


async def test_run_raises_the_error_of_a_task() -> None:
    async with AsyncCarrier() as carrier:
        with pytest.raises(RemotingConnectError):
            await carrier.run(asking(refused_addr()))


async def test_timer_before_the_one_that_is_slept_for_fires_in_time() -> None:
    async with AsyncCarrier() as carrier, anyio.create_task_group() as group:
        group.start_soon(carrier.run, sleeping(3_600_000))
        await anyio.wait_all_tasks_blocked()
        assert await carrier.run(sleeping(1)) == "awake"
        group.cancel_scope.cancel()


async def test_cancelled_call_cancels_its_task() -> None:
    one = Noting()
    async with AsyncCarrier() as carrier:
        async with anyio.create_task_group() as group:
            group.start_soon(carrier.run, one.task())
            await anyio.wait_all_tasks_blocked()
            assert one.notes == ["begun"]
            group.cancel_scope.cancel()
        one.signal.set()
        assert await carrier.run(sleeping(0)) == "awake"
    assert one.notes == ["begun", "over"]


async def test_call_may_have_a_time_out() -> None:
    one = Noting()
    async with AsyncCarrier() as carrier:
        with pytest.raises(TimeoutError), anyio.fail_after(0.005):
            await carrier.run(one.task())
    assert one.notes == ["begun", "over"]


async def test_callback_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise KeyError("a bug")

    async with AsyncCarrier() as carrier:
        carrier.soon(fail)
        assert await carrier.run(sleeping(0)) == "awake"
    assert len(caplog.records) == 1


# -- functions of users ---------------------------------------------------------------------------


async def test_coroutine_functions_are_awaited_in_the_loop() -> None:
    async def function() -> int:
        await anyio.lowlevel.checkpoint()
        return threading.get_ident()

    async with AsyncCarrier() as carrier:
        here, also_here = await carrier.run(performing(function, partial(function)))
    assert here == also_here == threading.get_ident()


async def test_plain_functions_are_called_in_threads() -> None:
    async def answer() -> str:
        return "awaited"

    async with AsyncCarrier() as carrier:
        thread, awaited = await carrier.run(performing(threading.get_ident, lambda: answer()))
    assert thread != threading.get_ident()
    assert awaited == "awaited"


async def test_error_of_a_function_is_raised_in_its_task() -> None:
    async def fail() -> None:
        raise KeyError("of the user")

    def fail_in_a_thread() -> None:
        raise KeyError("of the user")

    async with AsyncCarrier() as carrier:
        for function in (fail, fail_in_a_thread):
            with pytest.raises(KeyError, match="of the user"):
                await carrier.run(performing(function))


async def test_coroutines_that_wait_run_at_the_same_time() -> None:
    started, release = anyio.create_memory_object_stream[int](20), anyio.Event()

    async def function() -> None:
        await started[0].send(1)
        await release.wait()

    with started[0], started[1]:
        async with AsyncCarrier() as carrier, anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(carrier.run, performing(function))
            for _ in range(20):
                await started[1].receive()
            release.set()


async def test_cancelled_call_cancels_the_coroutine_of_its_task() -> None:
    notes: list[str] = []

    async def function() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            notes.append("cancelled")

    async with AsyncCarrier() as carrier:
        async with anyio.create_task_group() as group:
            group.start_soon(carrier.run, performing(function))
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        assert await carrier.run(sleeping(0)) == "awake"
        await anyio.wait_all_tasks_blocked()
        assert notes == ["cancelled"]


def test_coroutine_that_raises_a_cancellation_itself_fails_its_task() -> None:
    failed: list[str] = []

    async def function() -> None:
        raise anyio.get_cancelled_exc_class()

    def task() -> Task[None]:
        try:
            yield Perform(function)
        except BaseException as error:
            failed.append(type(error).__name__)

    async def main() -> None:
        async with AsyncCarrier() as carrier:
            await carrier.run(task())

    anyio.run(main, backend="asyncio")  # trio's has no public constructor
    assert failed == ["CancelledError"]


async def test_functions_do_not_see_the_context_of_other_calls() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="none")
    variable.set("of the block")

    async def function() -> str:
        return variable.get()

    async with AsyncCarrier() as carrier:
        variable.set("of a request")
        assert await carrier.run(performing(function, variable.get)) == ["of the block"] * 2


# -- the end --------------------------------------------------------------------------------------


async def test_end_of_the_block_ends_tasks_coroutines_and_connections() -> None:
    def waits(peer: BrokerEnd) -> None:
        peer.receive()
        peer.send(RemotingCommand(40, flag=FLAG_ONEWAY))
        assert peer.socket.recv(1) == b"", "the client closes the connection"

    one, notes = Noting(), []

    async def function() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            notes.append("cancelled")

    errors: list[str] = []

    async def run(task: Task[object]) -> None:
        try:
            await carrier.run(task)
        except MQClientError as error:
            errors.append(str(error))

    with ScriptedBroker(waits) as broker:
        async with anyio.create_task_group() as group, AsyncCarrier() as carrier:
            for task in (one.task(), performing(function), asking(broker.addr)):
                group.start_soon(run, task)
            connected = anyio.Event()
            carrier.on_request = lambda *_: connected.set()
            await connected.wait()
    assert errors == ["this client is closed: create another one"] * 3
    assert one.notes == ["begun", "over"]
    assert notes == ["cancelled"]


async def test_carrier_outside_of_its_block_refuses_calls() -> None:
    carrier = AsyncCarrier()
    with pytest.raises(MQClientError, match="create another one"):
        await carrier.run(at_once())
    async with carrier:
        assert await carrier.run(at_once()) == "done"
    with pytest.raises(MQClientError, match="create another one"):
        await carrier.run(at_once())


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="Windows")
async def test_end_of_the_block_leaves_no_descriptor() -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(3):
        with ScriptedBroker(scripts.answers) as broker:
            async with AsyncCarrier() as carrier:
                assert await carrier.run(asking(broker.addr)) == 0
    assert len(list(Path("/dev/fd").iterdir())) == before


async def test_error_of_the_block_is_raised_as_it_is() -> None:
    async def block() -> None:
        async with AsyncCarrier() as carrier:
            await carrier.run(sleeping(0))
            raise KeyError("of the block")

    with pytest.raises(KeyError, match="of the block"):
        await block()


async def test_block_that_is_cancelled_is_left() -> None:
    one = Noting()
    with anyio.CancelScope() as scope:
        async with AsyncCarrier() as carrier:
            carrier.soon(scope.cancel)
            await carrier.run(one.task())
    assert scope.cancelled_caught
    assert one.notes == ["begun", "over"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows")
async def test_forked_child_is_refused() -> None:
    async with AsyncCarrier() as carrier:

        def run() -> object:
            return carrier.run(at_once()).send(None)

        said = in_child(run)
    assert said.startswith(f"MQClientError: this client belongs to process {os.getpid()}")
