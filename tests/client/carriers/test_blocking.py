"""The carrier with threads: calls from any thread, functions of users, interrupts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, wait

import pytest

from fakemq.client.carriers.blocking import ThreadCarrier
from fakemq.client.errors import (
    MQClientError,
    RemotingConnectError,
    RemotingTooMuchRequestError,
)
from fakemq.client.tasks import Perform, Signal, Sleep, Task, Wait
from fakemq.errors import ConfigError
from tests.support import broker_scripts as scripts
from tests.support.client_shells import asking
from tests.support.scripted_broker import ScriptedBroker, refused_addr

LIMIT_S = 10


@pytest.fixture
def carrier() -> Iterator[ThreadCarrier]:
    with ThreadCarrier() as carrier:
        yield carrier


class Waiting:
    """A task that waits for a signal, and notes its end."""

    def __init__(self) -> None:
        self.signal = Signal()
        self.has_begun = threading.Event()
        self.is_over = threading.Event()

    def task(self) -> Task[str]:
        try:
            self.has_begun.set()
            yield Wait(self.signal)
            return "set"
        finally:
            self.is_over.set()


def sleeping(ms: int) -> Task[str]:
    yield Sleep(ms)
    return "awake"


def performing(*functions: object) -> Task[list[object]]:
    results: list[object] = []
    for function in functions:
        assert callable(function)
        results.append((yield Perform(function)))
    return results


# -- calls ----------------------------------------------------------------------------------------


def test_run_returns_the_result_of_a_task(carrier: ThreadCarrier) -> None:
    with ScriptedBroker(scripts.answers) as broker:
        assert carrier.run(asking(broker.addr)) == 0
    assert carrier.run(sleeping(1)) == "awake"


def test_run_raises_the_error_of_a_task(carrier: ThreadCarrier) -> None:
    with pytest.raises(RemotingConnectError):
        carrier.run(asking(refused_addr()))


def test_submit_returns_a_future(carrier: ThreadCarrier) -> None:
    good, bad = carrier.submit(sleeping(0)), carrier.submit(asking(refused_addr()))
    assert good.result(LIMIT_S) == "awake"
    assert isinstance(bad.exception(LIMIT_S), RemotingConnectError)


def test_cancelled_future_cancels_its_task(carrier: ThreadCarrier) -> None:
    waiting = Waiting()
    future = carrier.submit(waiting.task())
    assert waiting.has_begun.wait(LIMIT_S)
    assert future.cancel()
    assert waiting.is_over.wait(LIMIT_S)
    with pytest.raises(CancelledError):
        future.result()


def test_cancelled_future_ends_the_wait_for_several(carrier: ThreadCarrier) -> None:
    future = carrier.submit(Waiting().task())
    assert future.cancel()
    assert wait([future], timeout=LIMIT_S).done == {future}


def test_run_that_takes_too_long_cancels_its_task(carrier: ThreadCarrier) -> None:
    waiting = Waiting()
    with pytest.raises(RemotingTooMuchRequestError, match="not done within 5 ms"):
        carrier.run(waiting.task(), timeout_ms=5)
    assert waiting.is_over.wait(LIMIT_S)
    with pytest.raises(ConfigError):
        carrier.run(sleeping(0), timeout_ms=-1)


def test_call_is_made_on_the_thread_of_the_tasks(carrier: ThreadCarrier) -> None:
    waiting = Waiting()
    future = carrier.submit(waiting.task())
    carrier.call(waiting.signal.set)
    assert future.result(LIMIT_S) == "set"
    with pytest.raises(ZeroDivisionError):
        carrier.call(lambda: 1 // 0)


def test_run_within_a_task_is_refused(carrier: ThreadCarrier) -> None:
    with pytest.raises(MQClientError, match="would wait for the thread that calls it"):
        carrier.call(lambda: carrier.run(sleeping(0)))


def test_threads_run_tasks_at_the_same_time(carrier: ThreadCarrier) -> None:
    together = threading.Barrier(16, timeout=LIMIT_S)
    results: list[str] = []

    def one() -> None:
        together.wait()
        for _ in range(20):
            results.append(carrier.run(sleeping(0)))

    threads = [threading.Thread(target=one) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert results == ["awake"] * 320


def test_callback_that_fails_is_logged(
    carrier: ThreadCarrier, caplog: pytest.LogCaptureFixture
) -> None:
    fired = threading.Event()

    def fail() -> None:
        fired.set()
        raise KeyError("a bug")

    carrier.call(lambda: carrier.soon(fail))
    assert fired.wait(LIMIT_S)
    assert carrier.run(sleeping(0)) == "awake"
    carrier.call(lambda: carrier.call_later(0, fail, kind="client_task"))
    assert carrier.run(sleeping(1)) == "awake"
    assert [record.exc_info is not None for record in caplog.records] == [True, True]


# -- functions of users ---------------------------------------------------------------------------


def test_functions_are_called_in_other_threads(carrier: ThreadCarrier) -> None:
    (thread,) = carrier.run(performing(threading.current_thread))
    assert thread not in (carrier.call(threading.current_thread), threading.current_thread())


def test_functions_that_wait_are_called_at_the_same_time(carrier: ThreadCarrier) -> None:
    together = threading.Barrier(20, timeout=LIMIT_S)
    futures = [carrier.submit(performing(together.wait)) for _ in range(20)]
    arrived: list[object] = []
    for future in futures:
        arrived += future.result(LIMIT_S)
    assert sorted(arrived, key=str) == sorted(range(20), key=str)


def test_error_of_a_function_is_raised_in_its_task(carrier: ThreadCarrier) -> None:
    def fail() -> None:
        raise SystemExit("of the user")

    with pytest.raises(SystemExit, match="of the user"):
        carrier.run(performing(fail))
    assert carrier.run(performing(lambda: 1)) == [1]


def test_function_may_use_the_carrier(carrier: ThreadCarrier) -> None:
    assert carrier.run(performing(lambda: carrier.run(sleeping(0)))) == ["awake"]


def test_result_of_a_cancelled_function_is_dropped(carrier: ThreadCarrier) -> None:
    begun, end = threading.Event(), threading.Event()

    def wait() -> bool:
        begun.set()
        return end.wait(LIMIT_S)

    future = carrier.submit(performing(wait, begun.clear))
    assert begun.wait(LIMIT_S)
    assert future.cancel()
    carrier.run(sleeping(0))
    end.set()
    assert carrier.run(performing(lambda: 1)) == [1]
    assert begun.is_set(), "the task went no further"


# -- interrupts -----------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="Windows")
def test_ctrl_c_ends_the_wait_and_cancels_the_task(
    carrier: ThreadCarrier, request: pytest.FixtureRequest
) -> None:
    # A job in the background, as of a build server, ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    waiting = Waiting()
    main = threading.main_thread().ident
    assert main is not None

    def interrupted() -> Task[str]:
        signal.pthread_kill(main, signal.SIGINT)
        return (yield from waiting.task())

    with pytest.raises(KeyboardInterrupt):
        carrier.run(interrupted())
    assert waiting.is_over.wait(LIMIT_S)
    assert carrier.run(sleeping(0)) == "awake"


def test_ctrl_c_just_before_the_thread_is_woken_loses_nothing(
    carrier: ThreadCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    io, interrupts = carrier._io, iter([KeyboardInterrupt])
    wake = io._wake

    def interrupted_once() -> None:
        io._asleep = False
        for interrupt in interrupts:
            raise interrupt
        wake()

    monkeypatch.setattr(io, "_wake", interrupted_once)

    def run_until_the_thread_is_asleep() -> None:
        while True:
            carrier.run(sleeping(0))

    with pytest.raises(KeyboardInterrupt):
        run_until_the_thread_is_asleep()
    assert carrier.run(sleeping(0)) == "awake"
