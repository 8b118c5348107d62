"""The transport of asynchronous programs: anyio, on asyncio and trio."""

from __future__ import annotations

from inspect import isawaitable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, cast

import anyio
from anyio.abc import ByteStream

from fakemq.client.addresses import split_addr
from fakemq.client.errors import (
    MQClientError,
    RemotingConnectError,
    RemotingError,
    RemotingSendRequestError,
    RemotingTimeoutError,
    system_reason,
)
from fakemq.client.operation import Call, Operation
from fakemq.client.remoting import CONNECT_TIMEOUT_MS, READ_BYTES, OnRequest, encoded
from fakemq.client.tasks import Perform, Task
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.connection import client_connection
from fakemq.protocol.errors import RemoteProtocolError

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials
    from fakemq.tls.contexts import ClientTls

T = TypeVar("T")


class _Waiter:
    """One request that waits for its response."""

    __slots__ = ("event", "response")

    def __init__(self, event: anyio.Event) -> None:
        self.event = event
        self.response: RemotingCommand | None = None


class AsyncChannel:
    """One connection, which its own task reads; any number of requests may wait."""

    def __init__(
        self,
        addr: str,
        stream: ByteStream,
        on_request: OnRequest,
        credentials: Credentials | None = None,
    ) -> None:
        self.addr = addr
        self.closed = False
        self._on_request = on_request
        self._stream = stream
        self._connection = client_connection(credentials)
        self._waiting: dict[int, _Waiter] = {}
        self._writing = anyio.Lock()

    async def ask(self, command: RemotingCommand) -> RemotingCommand | None:
        """Send a request and return its response; None at once if it is one-way."""
        opaque = command.opaque = self._connection.next_opaque()
        if command.is_oneway:
            await self._write(command)
            return None
        waiter = self._waiting[opaque] = _Waiter(anyio.Event())
        try:
            await self._write(command)
            await waiter.event.wait()
        finally:
            self._waiting.pop(opaque, None)
        if waiter.response is None:
            raise RemotingSendRequestError(self.addr)
        return waiter.response

    async def read(self) -> None:
        """Read and handle the peer's bytes until the connection ends."""
        try:
            while self._connection.failure is None:
                for command in self._connection.receive_data(
                    await self._stream.receive(READ_BYTES)
                ):
                    await self._take(command)
        except (
            anyio.EndOfStream,
            anyio.BrokenResourceError,
            anyio.ClosedResourceError,
            RemoteProtocolError,
            RemotingError,
            MQClientError,
        ):
            pass  # waiting calls fail, and the next call connects again
        finally:
            await self.close()

    async def close(self) -> None:
        """Close the connection and fail all waiting requests; do nothing if it is closed."""
        if self.closed:
            return
        self.closed = True
        for waiter in self._waiting.values():
            waiter.event.set()
        await anyio.aclose_forcefully(self._stream)

    async def _take(self, command: RemotingCommand) -> None:
        if not command.is_response:
            response = self._on_request(self.addr, command)
            if response is None:
                return
            if response.is_oneway:
                await self.ask(response)
            else:
                await self._write(response)
            return
        waiter = self._waiting.get(command.opaque)
        if waiter is not None:
            waiter.response = command
            waiter.event.set()

    async def _write(self, command: RemotingCommand) -> None:
        data = encoded(self._connection, command)
        async with self._writing:
            if self.closed:
                raise RemotingSendRequestError(self.addr)
            try:
                await self._stream.send(data)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
                await self.close()
                raise RemotingSendRequestError(self.addr) from error
            except BaseException:
                # Cancelled in the middle of a frame, perhaps: nothing can follow it.
                await self.close()
                raise


class AsyncRemoting:
    """Runs operations over anyio, on asyncio and trio; an asynchronous context manager."""

    def __init__(
        self,
        on_request: OnRequest,
        credentials: Credentials | None = None,
        tls: ClientTls | None = None,
    ) -> None:
        self._on_request = on_request
        self._credentials = credentials
        self._tls = tls
        self._channels: dict[str, AsyncChannel] = {}
        self._connecting: dict[str, anyio.Lock] = {}
        self._tasks = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for channel in self._channels.values():
            await channel.close()
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(kind, error, traceback)

    async def run(self, operation: Operation[T] | Task[T]) -> T:
        """Run an operation, or a task of calls and performs, to its end and return its result.

        A function of the user that is performed may be async.
        """
        task = cast("Task[T]", operation)
        outcome: object
        try:
            step = next(task)
            while True:
                try:
                    if isinstance(step, Perform):
                        outcome = step.function(*step.args)
                        outcome = await outcome if isawaitable(outcome) else outcome
                    else:
                        assert isinstance(step, Call)
                        outcome = await self.call(step)
                except Exception as error:
                    step = task.throw(error)
                else:
                    step = task.send(outcome)
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def call(self, call: Call) -> RemotingCommand | None:
        """Send one request and return its response, None if it is one-way. Raise RemotingError."""
        addr, command, timeout_ms = call
        channel = await self.channel(addr)
        with anyio.move_on_after(timeout_ms / 1000):
            return await channel.ask(command)
        await channel.close()
        raise RemotingTimeoutError(addr, timeout_ms)

    async def channel(self, addr: str) -> AsyncChannel:
        """Return the connection to an address; connect if there is none or it was lost."""
        async with self._connecting.setdefault(addr, anyio.Lock()):
            channel = self._channels.get(addr)
            if channel is not None and not channel.closed:
                return channel
            host, port = split_addr(addr)
            try:
                with anyio.fail_after(CONNECT_TIMEOUT_MS / 1000):
                    stream = await self._connected(host, port)
            except RemotingConnectError:  # an OSError, too
                raise
            except (
                OSError,
                UnicodeError,
            ) as error:  # TimeoutError is an OSError; UnicodeError: no host name for anyio
                raise RemotingConnectError(addr, system_reason(error)) from error
            channel = self._channels[addr] = AsyncChannel(
                addr, stream, self._on_request, self._credentials
            )
            self._tasks.start_soon(channel.read)
            return channel

    async def _connected(self, host: str, port: int) -> ByteStream:
        """Return a stream to a peer, by TLS after the handshake. Raise RemotingConnectError."""
        stream = await anyio.connect_tcp(host, port)
        if self._tls is None:
            return stream
        from fakemq.client.secure_stream import SecureStream  # most clients are plain
        from fakemq.tls.stream import TlsError

        addr = f"{host}:{port}"
        secure = SecureStream(stream, self._tls.stream(host), addr)
        try:
            await secure.shake_hands()
        except BaseException as error:
            await anyio.aclose_forcefully(stream)
            if isinstance(error, TlsError | anyio.BrokenResourceError):
                raise RemotingConnectError(addr, f"TLS: {error}") from error
            raise
        return secure
