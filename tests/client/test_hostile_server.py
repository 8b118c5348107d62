"""Whatever bytes a server sends, a client raises only the errors of `fakemq.client.errors`."""

from __future__ import annotations

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
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.connection import Connection
from tests.support.client_errors import ERRORS
from tests.support.odd_server import ODD_BYTES, framed, server
from tests.support.scripted_operation import route


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

PATIENCE_MS = 60_000
"""Three attempts encode 17 MiB each: on a busy machine that takes longer than a send may."""


def test_request_that_fits_no_frame_is_an_error_of_ours() -> None:
    with server(lambda request: framed(request)) as addr, Client(addr) as c:
        c.instance.routes.put("orders", route_at(addr), c.instance.time.elapsed_ms())
        large = Message("orders", b"x", properties={"a": "b" * (17 << 20)})
        with pytest.raises(MQClientError, match="is the most"):
            c.send(large, timeout_ms=PATIENCE_MS)
        with pytest.raises(MQClientError, match="32767"):
            c.send_batch([large], timeout_ms=PATIENCE_MS)
        errors: list[object] = []
        c.parallel().start(c.producer.send(large, timeout_ms=PATIENCE_MS), errors.append)
        assert isinstance(errors[0], MQClientError)


def route_at(addr: str) -> TopicRouteData:
    data = route("a")
    data.broker_datas[0].broker_addrs = {0: addr}
    return data


def test_every_error_of_clients_is_a_fakemq_error() -> None:
    assert MQBrokerError in ERRORS
    assert RemotingCommandError in ERRORS
    assert all(issubclass(one, FakemqError) for one in ERRORS)
