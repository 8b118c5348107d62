"""Faces and servers that answer anything, nothing, or die: no hang, no thread left, no loss."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import anyio
import pytest

import fakemq
from fakemq.client import (
    AsyncLitePullConsumer,
    AsyncProducer,
    AsyncPushConsumer,
    LitePullConsumer,
    Producer,
    PushConsumer,
    ReceivedMessage,
)
from tests.support.client_errors import ERRORS
from tests.support.eventually import eventually, eventually_async
from tests.support.odd_server import ODD_BYTES, server

QUICK_MS = 300
LONG_S = 30.0


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(masters=2, topics={"orders": 1}) as mq:
        yield mq


@pytest.fixture
def threads_end() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    eventually(lambda: not set(threading.enumerate()) - before)


def bodies(messages: list[ReceivedMessage]) -> set[bytes]:
    return {message.body for message in messages}


@pytest.mark.usefixtures("threads_end")
@pytest.mark.parametrize("name", ODD_BYTES)
def test_odd_name_server_is_an_error_of_ours(name: str) -> None:
    with server(ODD_BYTES[name]) as addr:
        with Producer(addr, group="g", api_timeout_ms=QUICK_MS) as p, pytest.raises(ERRORS):
            p.send("orders", b"x", timeout_ms=QUICK_MS)
        c = PushConsumer(
            addr, group="g", subscribe="orders", on_message=print, api_timeout_ms=QUICK_MS
        )
        with pytest.raises(ERRORS):
            c.start()
        assert c.state.name in ("START_FAILED", "SHUTDOWN_ALREADY")

        async def asynchronously() -> None:
            async with AsyncProducer(addr, group="g", api_timeout_ms=QUICK_MS) as p:
                with pytest.raises(ERRORS):
                    await p.send("orders", b"x", timeout_ms=QUICK_MS)
            c = AsyncPushConsumer(
                addr, group="g", subscribe="orders", on_message=print, api_timeout_ms=QUICK_MS
            )
            with pytest.raises(ERRORS):
                await c.start()

        anyio.run(asynchronously)


@pytest.mark.usefixtures("threads_end")
def test_shutdown_ends_although_no_broker_answers(mq: fakemq.Cluster) -> None:
    seen: list[ReceivedMessage] = []
    mq.seed("orders", [b"one", b"two"])
    with (
        Producer(mq.namesrv_addr, group="g", api_timeout_ms=QUICK_MS) as p,
        PushConsumer(
            mq.namesrv_addr,
            group="billing",
            subscribe="orders",
            on_message=seen.append,
            consume_from="first",
            api_timeout_ms=QUICK_MS,
        ),
        LitePullConsumer(
            mq.namesrv_addr, group="reports", subscribe="orders", api_timeout_ms=QUICK_MS
        ),
    ):
        p.send("orders", b"three")
        eventually(lambda: len(bodies(seen)) == 3)
        for broker in mq.brokers:
            broker.pause()
    for broker in mq.brokers:
        broker.resume()


@pytest.mark.anyio
async def test_asynchronous_shutdown_ends_although_no_broker_answers(mq: fakemq.Cluster) -> None:
    seen: list[ReceivedMessage] = []
    mq.seed("orders", [b"one", b"two"])
    async with (
        AsyncProducer(mq.namesrv_addr, group="g", api_timeout_ms=QUICK_MS) as p,
        AsyncPushConsumer(
            mq.namesrv_addr,
            group="billing",
            subscribe="orders",
            on_message=seen.append,
            consume_from="first",
            api_timeout_ms=QUICK_MS,
        ),
        AsyncLitePullConsumer(
            mq.namesrv_addr, group="reports", subscribe="orders", api_timeout_ms=QUICK_MS
        ),
    ):
        await p.send("orders", b"three")
        await eventually_async(lambda: len(bodies(seen)) == 3)
        for broker in mq.brokers:
            broker.pause()
    for broker in mq.brokers:
        broker.resume()


@pytest.mark.usefixtures("threads_end")
def test_shutdown_ends_when_the_cluster_is_gone(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g") as p:
        p.send("orders", b"x")
        with PushConsumer(mq.namesrv_addr, group="b", subscribe="orders", on_message=print):
            mq.stop()


def test_consumer_survives_brokers_that_die(mq: fakemq.Cluster) -> None:
    seen: list[ReceivedMessage] = []
    with (
        PushConsumer(
            mq.namesrv_addr,
            group="billing",
            subscribe="orders",
            on_message=seen.append,
            consume_from="first",
            pull_delay_when_error_ms=50,
            route_interval_ms=50,
        ),
        Producer(mq.namesrv_addr, group="g", route_interval_ms=50) as p,
    ):

        def is_stored(body: bytes) -> bool:
            try:
                p.send("orders", body)
            except ERRORS:
                return False  # its route is of a moment ago
            return True

        for turn, victim in enumerate(["broker-a", "broker-b", "broker-a"]):
            mq.broker(victim).kill()
            eventually(lambda body=b"%d" % turn: is_stored(body))  # type: ignore[misc]
            mq.broker(victim).restart()
        eventually(lambda: bodies(seen) == {b"0", b"1", b"2"})


def test_send_to_a_silent_broker_ends_in_its_time(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g", api_timeout_ms=QUICK_MS) as p:
        (silent,) = (one for one in p.queues("orders") if one.broker_name == "broker-a")
        mq.broker("broker-a").pause()
        with pytest.raises(TimeoutError):
            p.send("orders", b"x", queue=silent, timeout_ms=QUICK_MS)
        future = p.send_async("orders", b"x", queue=silent, timeout_ms=QUICK_MS)
        assert isinstance(future.exception(LONG_S), TimeoutError)
        mq.broker("broker-a").resume()
        assert p.send("orders", b"last").status == "SEND_OK"


def test_function_that_never_returns_does_not_hold_up_the_end(mq: fakemq.Cluster) -> None:
    began, may_end = threading.Event(), threading.Event()

    def stuck(_: ReceivedMessage) -> None:
        began.set()
        may_end.wait(LONG_S)

    mq.seed("orders", [b"one"])
    with PushConsumer(
        mq.namesrv_addr,
        group="billing",
        subscribe="orders",
        on_message=stuck,
        consume_from="first",
        await_termination_ms_when_shutdown=50,
    ):
        assert began.wait(LONG_S)
    may_end.set()
    seen: list[ReceivedMessage] = []
    with PushConsumer(
        mq.namesrv_addr,
        group="billing",
        subscribe="orders",
        on_message=seen.append,
        consume_from="first",
    ):
        eventually(lambda: bodies(seen) == {b"one"})
