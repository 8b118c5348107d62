"""Whatever bytes a server sends, a client raises only the errors of `fakemq.client.errors`."""

from __future__ import annotations

import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from fakemq.client import AsyncClient, Client, Message
from fakemq.client.errors import (
    MQBrokerError,
    MQClientError,
    RemotingCommandError,
    RemotingError,
)
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.route import TopicRouteData
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand, SerializeType
from fakemq.protocol.connection import Connection
from tests.support.client_errors import ERRORS
from tests.support.scripted_operation import route

Answering = Callable[[RemotingCommand], bytes]


@contextmanager
def server(answering: Answering, *, closes: bool = True) -> Iterator[str]:
    """Answer the first request of each connection by these bytes, and close it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(2)
                commands: list[RemotingCommand] = []
                decoder = Connection()
                try:
                    while not commands:
                        data = connection.recv(65536)
                        if not data:
                            break
                        commands = decoder.receive_data(data)
                    if commands:
                        connection.sendall(answering(commands[0]))
                    while not closes and connection.recv(65536):
                        pass
                except OSError:
                    continue

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def framed(request: RemotingCommand, **changes: Any) -> bytes:
    command = RemotingCommand(0, flag=FLAG_RESPONSE, opaque=request.opaque)
    for name, value in changes.items():
        setattr(command, name, value)
    return Connection().encode(command)


ODD_BYTES: dict[str, Answering] = {
    "nothing": lambda request: b"",
    "garbage": lambda request: b"\xff" * 100,
    "http": lambda request: b"HTTP/1.1 200 OK\r\n\r\n",
    "zeros": lambda request: bytes(64),
    "negative length": lambda request: b"\x80\0\0\0" + bytes(60),
    "length beyond the frame": lambda request: b"\x7f\xff\xff\xff",
    "header beyond the frame": lambda request: b"\0\0\0\x10\0\xff\xff\xff" + bytes(12),
    "other opaque": lambda request: framed(request, opaque=request.opaque + 1),
    "its own request": lambda request: Connection().encode(request),
    "no JSON": lambda request: b"\0\0\0\x06\0\0\0\x02{[",
    "deep JSON": lambda request: (50_004).to_bytes(4) + (50_000).to_bytes(4) + b"[" * 50_000,
    "binary header": lambda request: framed(request, serialize_type=SerializeType.ROCKETMQ)[:-2],
    "deep body": lambda request: framed(request, body=b'{"topicList":' * 1_000),
    "zip bomb": lambda request: framed(request, body=zlib.compress(bytes(1 << 24))),
}


@pytest.mark.parametrize("name", ODD_BYTES)
def test_odd_bytes_are_an_error_of_ours(name: str) -> None:
    with server(ODD_BYTES[name]) as addr:
        with Client(addr, api_timeout_ms=2_000) as blocking, pytest.raises(ERRORS):
            blocking.topic_names()

        async def ask() -> None:
            async with AsyncClient(addr, api_timeout_ms=2_000) as asynchronous:
                with pytest.raises(ERRORS):
                    await asynchronous.topic_names()

        anyio.run(ask)


def test_connection_that_ends_at_any_byte_is_an_error_of_ours() -> None:
    whole = framed(RemotingCommand(0, opaque=0), body=b'{"topicList":["orders"]}')
    ends = iter(range(len(whole)))
    with server(lambda request: whole[: next(ends)]) as addr:
        for _ in range(len(whole)):
            with Client(addr, api_timeout_ms=2_000) as one, pytest.raises(RemotingError):
                one.topic_names()


CHECK = RequestCode.CHECK_TRANSACTION_STATE


def test_handler_that_fails_does_not_end_the_call_that_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(addr: str, request: RemotingCommand) -> RemotingCommand:
        raise KeyError("a bug of the handler")

    def ask_first(request: RemotingCommand) -> bytes:
        names = framed(request, body=b'{"topicList":["orders"]}')
        return Connection().encode(RemotingCommand(CHECK)) + names

    with server(ask_first) as addr, Client(addr) as one:
        one.instance.handlers[CHECK] = fail
        assert one.topic_names() == ["orders"]
    (logged,) = caplog.messages
    assert logged == f"the handler of CHECK_TRANSACTION_STATE from {addr} failed"


def test_answer_of_a_handler_that_fits_no_frame_closes_the_connection() -> None:
    large = RemotingCommand(0, body=bytes(17 << 20))
    asking = lambda request: Connection().encode(RemotingCommand(CHECK))  # noqa: E731
    with server(asking, closes=False) as addr:
        with Client(addr, api_timeout_ms=2_000) as blocking:
            blocking.instance.handlers[CHECK] = lambda _, request: large
            with pytest.raises(RemotingError):
                blocking.topic_names()

        async def ask() -> None:
            async with AsyncClient(addr, api_timeout_ms=2_000) as one:
                one.instance.handlers[CHECK] = lambda _, request: large
                with pytest.raises(RemotingError):
                    await one.topic_names()

        anyio.run(ask)


# -- the caller's own requests --------------------------------------------------------------------


def test_request_that_fits_no_frame_is_an_error_of_ours() -> None:
    with server(lambda request: framed(request)) as addr, Client(addr) as c:
        c.instance.routes.put("orders", route_at(addr), c.instance.time.elapsed_ms())
        large = Message("orders", b"x", properties={"a": "b" * (17 << 20)})
        with pytest.raises(MQClientError, match="is the most"):
            c.send(large)
        with pytest.raises(MQClientError, match="32767"):
            c.send_batch([large])
        errors: list[object] = []
        c.parallel().start(c.producer.send(large), errors.append)
        assert isinstance(errors[0], MQClientError)


def route_at(addr: str) -> TopicRouteData:
    data = route("a")
    data.broker_datas[0].broker_addrs = {0: addr}
    return data


def test_every_error_of_clients_is_a_fakemq_error() -> None:
    assert MQBrokerError in ERRORS
    assert RemotingCommandError in ERRORS
    assert all(issubclass(one, FakemqError) for one in ERRORS)
