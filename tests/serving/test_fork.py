"""A forked child of the process that runs a cluster, or that has a client."""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import fakemq
from fakemq.client import Client, Message
from fakemq.client.carriers.callers_thread import CallerCarrier
from fakemq.client.operation import tell
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.hosts import format_host
from tests.support.forking import in_child
from tests.support.tcp import refuses

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

NOT_HERE = (
    r"FakemqError: this cluster runs in process \d+, and this is a forked child of it: connect"
    " clients to its ports, or start a cluster in the child"
)
CALLS: list[Callable[[fakemq.Cluster], object]] = [
    lambda mq: mq.seed("orders", ["x"]),
    lambda mq: mq.messages("orders"),
    lambda mq: mq.topics(),
    lambda mq: mq.reset(),
    lambda mq: mq.clock.advance("1s"),
    lambda mq: mq.wait_for(lambda: True),
    lambda mq: mq.broker("broker-a").kill(),
    lambda mq: mq.broker("broker-a").restart(),
    lambda mq: mq.faults.drop("PULL_MESSAGE"),
    lambda mq: mq.group("g").members(),
    lambda mq: mq.snapshot(),
    lambda mq: mq.inspect(lambda core: core),
]


def test_call_in_a_child_is_refused_at_once() -> None:
    with fakemq.Cluster(topics={"orders": 1}) as mq:
        for call in CALLS:
            assert re.fullmatch(NOT_HERE, in_child(lambda call=call: call(mq)))  # type: ignore[misc]
        assert mq.seed("orders", ["x"])


def test_child_knows_the_addresses_and_connects_to_them() -> None:
    def send() -> object:
        with Client(mq.namesrv_addr) as client:
            return client.send(Message("orders", b"from the child")).status.name

    with fakemq.Cluster(topics={"orders": 1}) as mq:
        assert in_child(send) == "SEND_OK"
        assert [one.body for one in mq.messages("orders")] == [b"from the child"]


def test_child_starts_a_cluster_of_its_own() -> None:
    def run() -> object:
        with fakemq.Cluster(topics={"mine": 1}) as own:
            return own.seed("mine", ["x"])[0].body

    with fakemq.Cluster(topics={"orders": 1}) as mq:
        assert in_child(run) == "b'x'"
        assert "mine" not in mq.topics()


def test_stop_in_a_child_leaves_the_parents_cluster_alone(tmp_path: Path) -> None:
    mq = fakemq.Cluster(topics={"orders": 1}, store=str(tmp_path), control_port=0)

    def leave() -> object:
        nonlocal mq
        mq.stop()
        mq.stop()
        del mq
        gc.collect()
        return "left"

    with mq as kept:
        kept.seed("orders", ["before"])
        assert in_child(leave) == "left"
        assert in_child(lambda: kept.__exit__()) == "None"
        with Client(kept.namesrv_addr) as client:
            client.send(Message("orders", b"after"))
        assert [one.body for one in kept.messages("orders")] == [b"before", b"after"]
    with fakemq.Cluster(store=str(tmp_path)) as again:
        assert [one.body for one in again.messages("orders")] == [b"before", b"after"]


@contextmanager
def living_child() -> Iterator[None]:
    """A forked child that has done its first acts, and lives until the block ends."""
    context = multiprocessing.get_context("fork")
    begun, over = context.Event(), context.Event()

    def live() -> None:
        begun.set()
        over.wait(30)

    child = context.Process(target=live)
    child.start()
    try:
        assert begun.wait(30)
        yield
    finally:
        over.set()
        child.join()


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    """A peer of our process, which accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        yield listener


def accepted(peer: socket.socket) -> socket.socket:
    connection, _ = peer.accept()
    connection.settimeout(10)
    return connection


def test_child_keeps_no_port_and_no_connection_of_the_parent() -> None:
    with fakemq.Cluster(topics={"orders": 1}) as mq, Client(mq.namesrv_addr) as client:
        client.send(Message("orders", b"x"))
        with living_child():
            mq.broker("broker-a").kill()
            assert refuses(int(mq.broker("broker-a").addr.rpartition(":")[2]))
            # The client reads the end of its connection, although the child had a copy of it.
            (sock,) = (
                wire.socket
                for channel, wire in client._carrier._wires.items()
                if channel.addr == mq.broker("broker-a").addr
            )
            assert sock is not None
            sock.settimeout(5)
            assert sock.recv(1) == b""


def test_child_keeps_no_connection_of_a_client(peer: socket.socket) -> None:
    carrier = CallerCarrier()
    opening = tell(format_host(peer.getsockname()), RemotingCommand(34), 5_000)
    carrier.run(opening)
    with accepted(peer) as connection, living_child():
        assert connection.recv(65536)
        connection.sendall(b"x")
        ((_, wire),) = carrier._wires.items()
        assert wire.socket is not None
        wire.socket.settimeout(5)
        assert wire.socket.recv(1) == b"x", "the child did not end the connection"
        carrier.close()
        assert connection.recv(1) == b""


def test_child_keeps_no_connection_of_a_broker_to_another_process(peer: socket.socket) -> None:
    addr = format_host(peer.getsockname())
    with fakemq.Cluster() as mq:
        broker = mq.inspect(lambda core: core.broker("broker-a"))
        command = RemotingCommand(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        mq.inspect(lambda _: broker.outbound.invoke_oneway(addr, command))
        with accepted(peer) as connection, living_child():
            assert connection.recv(65536)
            mq.broker("broker-a").kill()
            assert connection.recv(1) == b""


def test_client_in_a_child_is_refused_and_its_parents_continues() -> None:
    refusal = (
        r"MQClientError: this client belongs to process \d+, and this is a forked child of it:"
        " create a client in the child"
    )
    with fakemq.Cluster(topics={"orders": 1}) as mq, Client(mq.namesrv_addr) as client:
        client.send(Message("orders", b"before"))
        client.subscribe("orders")
        client.heartbeat()
        for call in (client.topic_names, client.heartbeat, lambda: client.poll(timeout_ms=0)):
            assert re.fullmatch(refusal, in_child(call))
        assert in_child(client.close) == "None"
        assert mq.group("DEFAULT_CONSUMER").members() != []
        client.send(Message("orders", b"after"))
        assert len(mq.messages("orders")) == 2
