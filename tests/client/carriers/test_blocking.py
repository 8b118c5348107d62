"""The carrier with threads: calls from any thread, functions of users, its end."""

from __future__ import annotations

import threading

from fakemq.client.carriers.blocking import ThreadCarrier
from fakemq.client.operation import Operation, ask
from fakemq.client.tasks import Perform, Sleep, Task
from fakemq.protocol.command import RemotingCommand
from tests.support import broker_scripts as scripts
from tests.support.scripted_broker import ScriptedBroker
from tests.support.scripted_operation import TIMEOUT_MS


def asking(addr: str) -> Operation[int]:
    response = yield from ask(addr, RemotingCommand(34), TIMEOUT_MS)
    return response.code


def test_run_returns_the_result_of_a_request() -> None:
    with ScriptedBroker(scripts.answers) as broker, ThreadCarrier() as carrier:
        assert carrier.run(asking(broker.addr)) == 0


def test_function_is_called_in_another_thread() -> None:
    def performing() -> Task[threading.Thread]:
        yield Sleep(1)
        thread: threading.Thread = yield Perform(threading.current_thread)
        return thread

    before = threading.active_count()
    with ThreadCarrier() as carrier:
        thread = carrier.submit(performing()).result()
        assert carrier.call(threading.current_thread) not in (thread, threading.current_thread())
    assert not thread.is_alive()
    assert threading.active_count() == before
