"""How faces begin and end: garbage, exits, forks, Ctrl-C, and a package that is cheap to import."""

from __future__ import annotations

import gc
import inspect
import os
import pydoc
import signal
import subprocess
import sys
import threading
import warnings

import anyio
import anyio.to_thread
import msgspec
import pytest

import fakemq
import fakemq.client
from fakemq.client import AsyncProducer, MQClientError, Producer
from fakemq.client.consuming.lite_settings import LitePullSettings
from fakemq.client.consuming.pull_settings import PullSettings
from fakemq.client.consuming.settings import PushSettings
from fakemq.client.faces.options import (
    AsyncProducerOptions,
    FaceOptions,
    LitePullOptions,
    ProducerOptions,
    PullOptions,
    PushOptions,
)
from fakemq.client.faces.settings import CLIENT_OPTIONS
from fakemq.client.producing.settings import ProducerSettings
from tests.support.eventually import eventually
from tests.support.forking import in_child as in_fork


def in_process(code: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *args], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_import_of_the_package_loads_no_client() -> None:
    code = "import sys, fakemq.client; print(*(m for m in sys.modules if m[:6] == 'fakemq'))"
    assert in_process(code).split() == ["fakemq", "fakemq.client"]


def test_blocking_program_needs_no_loop() -> None:
    code = "import sys; from fakemq.client import Producer; print('anyio' in sys.modules)"
    assert in_process(code) == "False\n"


def test_every_export_is_listed() -> None:
    assert set(fakemq.client.__all__) <= set(dir(fakemq.client))
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        fakemq.client.__getattr__("Nothing")


def test_help_shows_every_option_with_its_default() -> None:
    shown = str(inspect.signature(Producer))
    assert shown.startswith("(namesrv_addr: str | None = None, *, group: str, instance_name: str")
    assert "send_timeout_ms: int = 3000" in shown
    assert "heartbeat_interval_ms: int = 30000" in shown
    assert "retry_times_when_send_failed: int = 2" in pydoc.render_doc(Producer)


@pytest.mark.parametrize(
    ("options", "settings", "arguments"),
    [
        (ProducerOptions, ProducerSettings, {"group"}),
        (AsyncProducerOptions, ProducerSettings, {"group"}),
        (PushOptions, PushSettings, {"group", "subscribe"}),
        (LitePullOptions, LitePullSettings, {"group", "subscribe"}),
        (PullOptions, PullSettings, {"group", "topics"}),
    ],
)
def test_options_are_those_of_the_settings(
    options: type, settings: type[msgspec.Struct], arguments: set[str]
) -> None:
    client = {*CLIENT_OPTIONS, "instance_name"}
    assert client == set(FaceOptions.__annotations__)
    assert set(options.__annotations__) - client == (
        set(settings.__struct_fields__) - client - arguments
    )


def test_dropped_face_ends_with_a_warning(
    mq: fakemq.Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    before = set(threading.enumerate())
    with pytest.warns(ResourceWarning, match="Producer g .* was dropped while it ran: shutdown"):
        Producer(mq.namesrv_addr, group="g").start()
    eventually(lambda: not set(threading.enumerate()) - before)
    assert "was dropped while it ran" in caplog.text


def test_face_that_was_shut_down_is_dropped_silently(mq: fakemq.Cluster) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Producer(mq.namesrv_addr, group="g"):
            pass
        Producer(mq.namesrv_addr, group="g")
        gc.collect()


def test_exit_of_the_interpreter_leaves_the_groups(mq: fakemq.Cluster) -> None:
    code = """
import sys
from fakemq.client import Producer
producer = Producer(sys.argv[1], group="exits").start()
producer.send("orders", b"last")
"""
    in_process(code, mq.namesrv_addr)
    assert [message.body for message in mq.messages("orders")] == [b"last"]
    assert mq.journal.find("RequestReceived", code="UNREGISTER_CLIENT")


def test_forked_child_is_refused_and_leaves_the_parent_alone(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g", instance_name="one") as p:
        p.send("orders", b"parent")

        def use() -> str:
            with pytest.raises(MQClientError, match="create a client in the child"):
                p.send("orders", b"child")
            p.shutdown()
            with Producer(mq.namesrv_addr, group="g", instance_name="one") as own:
                return str(own.send("orders", b"own").status)

        assert in_fork(use) == "SendStatus.SEND_OK"
        p.send("orders", b"parent")
    assert sorted(one.body for one in mq.messages("orders")) == [b"own", b"parent", b"parent"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_repr_of_a_forked_copy_names_its_process(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g") as p:
        assert in_fork(lambda: repr(p)).endswith(f", RUNNING in process {os.getpid()}>")
        assert repr(p).endswith(", RUNNING>")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_repr_shows_that_the_event_loop_is_over(mq: fakemq.Cluster, backend: str) -> None:
    producer = AsyncProducer(mq.namesrv_addr, group="g")
    anyio.run(producer.start, backend=backend)
    assert repr(producer).endswith(", its client is closed>")
    assert producer._finalizer is not None
    producer._finalizer.detach()  # it would warn when another test collects it


def test_repr_of_a_face_that_was_not_made() -> None:
    made = Producer.__new__(Producer)
    with pytest.raises(TypeError):
        made.__init__(None, group="g", no_such_option=7)  # type: ignore[misc]
    assert repr(made) == "<Producer , CREATE_JUST>"


WORKER = """
import signal, sys
from fakemq.client import PushConsumer

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it

def charge(message):
    print("charged", message.body, flush=True)

with PushConsumer(sys.argv[1], group="billing", subscribe="orders", on_message=charge,
                  consume_from="first") as consumer:
    signal.signal(signal.SIGTERM, lambda *_: consumer.shutdown())
    try:
        print("waits", flush=True)
        consumer.wait()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
print("bye", flush=True)
"""
ASYNC_WORKER = """
import asyncio, signal, sys
from fakemq.client import AsyncPushConsumer

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it

async def charge(message):
    print("charged", message.body, flush=True)

async def main():
    async with AsyncPushConsumer(sys.argv[1], group="billing", subscribe="orders",
                                 on_message=charge, consume_from="first") as consumer:
        print("waits", flush=True)
        await consumer.wait()

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
print("bye", flush=True)
"""
TRIO_WORKER = ASYNC_WORKER.replace("asyncio.run(main())", "trio.run(main)").replace(
    "import asyncio", "import trio"
)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(
    ("worker", "stopped_by", "last"),
    [
        (WORKER, signal.SIGTERM, b"bye\n"),
        (WORKER, signal.SIGINT, b"interrupted\nbye\n"),
        (ASYNC_WORKER, signal.SIGINT, b"interrupted\nbye\n"),
        (TRIO_WORKER, signal.SIGINT, b"interrupted\nbye\n"),
    ],
    ids=["SIGTERM", "Ctrl-C", "Ctrl-C of asyncio", "Ctrl-C of trio"],
)
def test_worker_that_is_stopped_commits_and_leaves_its_group(
    mq: fakemq.Cluster, worker: str, stopped_by: signal.Signals, last: bytes
) -> None:
    mq.seed("orders", [b"tea"])
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", worker, mq.namesrv_addr],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # The message may come before the worker is where it expects a signal.
        assert {process.stdout.readline() for _ in range(2)} == {b"charged b'tea'\n", b"waits\n"}
        process.send_signal(stopped_by)
        assert (process.stdout.read(), process.stderr.read()) == (last, b"")
        assert process.wait(30) == 0
    assert mq.group("billing").lag("orders") == 0
    assert not mq.group("billing").members()


@pytest.mark.parametrize("run", ["asyncio.run(main())", "trio.run(main)"])
def test_loop_that_ends_before_its_clients_says_so(mq: fakemq.Cluster, run: str) -> None:
    code = f"""
import asyncio, gc, logging, sys, trio, warnings
from fakemq.client import AsyncProducer, AsyncPushConsumer

logging.disable()  # which says the same

async def main():
    consumer = AsyncPushConsumer(sys.argv[1], group="billing", subscribe="orders", on_message=print)
    await consumer.start()
    producer = await AsyncProducer(sys.argv[1], group="g").start()
    kept.append((consumer, producer))

kept = []
{run}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kept.clear()
    gc.collect()
print(*sorted(str(one.message).split()[0] for one in caught if one.category is ResourceWarning))
"""
    assert in_process(code, mq.namesrv_addr) == "<AsyncProducer <AsyncPushConsumer\n"


def test_asynchronous_face_of_another_thread_is_refused(mq: fakemq.Cluster) -> None:
    async def main() -> None:
        async with AsyncProducer(mq.namesrv_addr, group="g") as p:

            async def send() -> None:
                await p.send("orders", b"x")

            with pytest.raises(MQClientError, match="the event loop of another thread"):
                await anyio.to_thread.run_sync(lambda: anyio.run(send))

    anyio.run(main)
