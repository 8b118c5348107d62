"""The end of a carrier with threads: closed, collected, in a forked child."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fakemq.client.carriers.blocking import ThreadCarrier
from fakemq.client.errors import MQClientError
from fakemq.client.tasks import Perform, Signal, Task, Wait
from tests.support.client_shells import asking
from tests.support.forking import in_child
from tests.support.scripted_broker import BrokerEnd, ScriptedBroker, respond

LIMIT_S = 10


def waiting() -> Task[None]:
    yield Wait(Signal())


def answers_until_the_end(peer: BrokerEnd) -> None:
    """Answer each request until the client closes, within the 5 s of a `ScriptedBroker`."""
    with suppress(ConnectionError):
        while True:
            peer.send(respond(peer.receive()))


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="Windows")
def test_close_leaves_no_thread_and_no_descriptor() -> None:
    threads, files = set(threading.enumerate()), descriptors()
    for _ in range(3):
        with ScriptedBroker(answers_until_the_end) as broker, ThreadCarrier() as carrier:
            assert carrier.run(asking(broker.addr)) == 0
            carrier.run(called(threading.get_ident))
        assert not set(threading.enumerate()) - threads
    assert descriptors() == files


def called(function: Callable[[], object]) -> Task[object]:
    return (yield Perform(function))


def test_close_fails_the_calls_that_wait() -> None:
    carrier = ThreadCarrier()
    futures = [carrier.submit(waiting()) for _ in range(3)]
    begun, errors = threading.Event(), []

    def run() -> None:
        def task() -> Task[None]:
            begun.set()
            yield from waiting()

        try:
            carrier.run(task())
        except MQClientError as error:
            errors.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(LIMIT_S)
    carrier.close()
    thread.join(LIMIT_S)
    assert errors == ["this client is closed: create another one"]
    assert [type(one.exception(LIMIT_S)) for one in futures] == [MQClientError] * 3


def test_closed_carrier_refuses_calls() -> None:
    carrier = ThreadCarrier()
    carrier.close()
    carrier.close()
    assert carrier.is_closed
    for call in (
        lambda: carrier.run(waiting()),
        lambda: carrier.submit(waiting()),
        lambda: carrier.call(int),
    ):
        with pytest.raises(MQClientError, match="closed: create another one"):
            call()


def test_call_that_races_with_the_end_is_refused() -> None:
    carrier = ThreadCarrier()
    carrier._io.stop()
    carrier._io.thread.join(LIMIT_S)
    assert isinstance(carrier.submit(waiting()).exception(LIMIT_S), MQClientError)


def test_close_does_not_wait_for_a_function_that_runs() -> None:
    end = threading.Event()
    threads: list[threading.Thread] = []
    begun = threading.Event()

    def function() -> None:
        threads.append(threading.current_thread())
        begun.set()
        end.wait(LIMIT_S)

    carrier = ThreadCarrier()
    carrier.submit(called(function))
    assert begun.wait(LIMIT_S)
    carrier.close()
    assert threads[0].is_alive()
    end.set()
    threads[0].join(LIMIT_S)
    assert not threads[0].is_alive()


@pytest.mark.parametrize("where", ["a function", "the thread of the tasks"])
def test_carrier_may_be_closed_from_within(where: str) -> None:
    carrier = ThreadCarrier()
    if where == "a function":
        future = carrier.submit(called(carrier.close))
        assert isinstance(future.exception(LIMIT_S), MQClientError)
    else:
        carrier.call(carrier.close)
    carrier._io.thread.join(LIMIT_S)
    assert not carrier._io.thread.is_alive()


# -- collected ------------------------------------------------------------------------------------


def test_collected_carrier_closes_its_connections_and_ends_its_thread() -> None:
    with ScriptedBroker(answers_until_the_end) as broker:
        carrier = ThreadCarrier()
        thread = carrier._io.thread
        carrier.run(asking(broker.addr))
        del carrier
        gc.collect()
        thread.join(LIMIT_S)
    assert not thread.is_alive()


def test_carrier_ends_with_its_owner() -> None:
    class Owner:
        pass

    owner = Owner()
    carrier = ThreadCarrier()
    carrier.close_with(owner)
    carrier.submit(waiting())
    collected = weakref.ref(owner)
    del owner
    gc.collect()
    assert collected() is None
    carrier._io.thread.join(LIMIT_S)
    assert not carrier._io.thread.is_alive()
    assert carrier.is_closed


def test_calls_leave_nothing_to_collect() -> None:
    with ThreadCarrier() as carrier:
        carrier.run(called(int))
        gc.collect()
        gc.disable()
        try:
            for _ in range(20):
                carrier.run(called(int))
                carrier.submit(called(int)).result(LIMIT_S)
            carrier.call(int)  # so that the thread is done with the last of them
            assert gc.collect() < 20, "less than an object for each call"
        finally:
            gc.enable()


# -- forked ---------------------------------------------------------------------------------------

NOT_HERE = "MQClientError: this client belongs to process {}, and this is a forked child of it"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows")
def test_forked_child_is_refused_and_leaves_the_parent_alone() -> None:
    with ScriptedBroker(answers_until_the_end) as broker, ThreadCarrier() as carrier:
        assert carrier.run(asking(broker.addr)) == 0
        for call in (
            lambda: carrier.run(waiting()),
            lambda: carrier.submit(waiting()),
            lambda: carrier.call(int),
        ):
            said = in_child(call)
            assert said.startswith(NOT_HERE.format(os.getpid())), said
            assert said.endswith("create a client in the child")
        assert in_child(carrier.close) == "None"
        assert in_child(carrier.close_soon) == "None"
        assert carrier.run(asking(broker.addr)) == 0
        assert carrier.run(called(lambda: 1)) == 1
