"""The transport of blocking programs: plain sockets.

This module and remoting_async keep one connection for each address, and answer requests from
brokers between other bytes. Example: code 40 arrives before the answer to the heartbeat that caused
it. As in Java, a request without an answer in time closes its connection.

Source: remoting/netty/NettyRemotingClient.java (4.9.7)
"""

from __future__ import annotations

import logging
import os
import selectors
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

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
from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.forked_sockets import close_in_children
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.connection import Connection, client_connection
from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials
    from fakemq.tls.contexts import ClientTls
    from fakemq.tls.stream import TlsStream

_log = logging.getLogger("fakemq.client")
T = TypeVar("T")
OnRequest = Callable[[str, RemotingCommand], RemotingCommand | None]
"""Takes a broker's address and its request; returns the answer, or None."""

CONNECT_TIMEOUT_MS = 3_000
"""Source: remoting/netty/NettyClientConfig.java#connectTimeoutMillis (4.9.7)"""

READ_BYTES = 65_536
_READS_BETWEEN_REQUESTS = 1024
"""How many reads take what arrived between two requests, at most: a peer may never stop sending."""


def local_ip(peer_addr: str) -> str:
    """Return the address of this machine as the peer sees it; sends nothing."""
    host, port = split_addr(peer_addr)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, port))
        except OSError:
            return "127.0.0.1"
        ip: str = probe.getsockname()[0]
        return ip


class BlockingChannel:
    """One connection for one thread; several requests may wait for their responses.

    Raise RemotingConnectError if no peer answers, MQClientError for a request that fits no frame.
    """

    def __init__(
        self,
        addr: str,
        on_request: OnRequest,
        *,
        timeout_ms: int = CONNECT_TIMEOUT_MS,
        credentials: Credentials | None = None,
        tls: ClientTls | None = None,
    ) -> None:
        self.addr = addr
        self.closed = False
        self._on_request = on_request
        self._connection = client_connection(credentials)
        self._waiting: set[int] = set()
        self._responses: dict[int, RemotingCommand] = {}
        try:
            self.socket = socket.create_connection(split_addr(addr), timeout_ms / 1000)
        except OSError as error:
            raise RemotingConnectError(addr, system_reason(error)) from error
        close_in_children(self.socket)
        try:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:  # macOS: the peer has reset the connection already
            self.close()
            raise RemotingConnectError(addr) from error
        self._tls: TlsStream | None = None
        if tls is not None:
            self._tls, early = self._secured(tls, timeout_ms)
            self._received(early)

    def _secured(self, tls: ClientTls, timeout_ms: int) -> tuple[TlsStream, bytes]:
        """Return TLS after its handshake, and the plain bytes that came with the end of that."""
        from fakemq.tls.stream import TlsError  # most clients are plain

        stream = tls.stream(split_addr(self.addr)[0])
        until_ms, plain = real_elapsed_ms() + timeout_ms, b""
        try:
            stream.start()
            while True:
                self.socket.sendall(stream.data_to_send())
                if not stream.handshaking:
                    return stream, plain
                self.socket.settimeout(max(1, until_ms - real_elapsed_ms()) / 1000)
                data = self.socket.recv(READ_BYTES)
                if not data:
                    raise TlsError("the peer closed the connection during the handshake")
                plain = stream.receive(data)
        except OSError as error:
            with suppress(OSError):
                self.socket.sendall(stream.data_to_send())  # an alert
            self.close()
            raise RemotingConnectError(self.addr, f"TLS: {system_reason(error)}") from error

    def send(self, command: RemotingCommand, *, timeout_ms: int = CONNECT_TIMEOUT_MS) -> int:
        """Send a request; return its opaque, the argument of `receive`."""
        return self.send_all((command,), timeout_ms=timeout_ms)[0]

    def send_all(
        self, commands: Iterable[RemotingCommand], *, timeout_ms: int = CONNECT_TIMEOUT_MS
    ) -> list[int]:
        """Send requests in one piece, so that the peer wakes up once; return their opaques.

        Each command is encoded before the next one is taken, so a caller may yield the same object
        again with changed fields.
        """
        opaques, frames = [], []
        for command in commands:
            command.opaque = self._connection.next_opaque()
            frames.append(encoded(self._connection, command))
            opaques.append(command.opaque)
            if not command.is_oneway:
                self._waiting.add(command.opaque)
        self._write(b"".join(frames), timeout_ms)
        return opaques

    def receive(self, opaque: int, timeout_ms: int) -> RemotingCommand:
        """Return the response to a request; raise RemotingTimeoutError if it is late."""
        until_ms = real_elapsed_ms() + timeout_ms
        while opaque not in self._responses:
            left_ms = until_ms - real_elapsed_ms()
            if left_ms <= 0 or not self.poll(left_ms):
                self._waiting.discard(opaque)
                raise RemotingTimeoutError(self.addr, timeout_ms)
        return self._responses.pop(opaque)

    def forget(self, opaque: int) -> None:
        """Drop the response to a request, whether it has arrived or not."""
        self._waiting.discard(opaque)
        self._responses.pop(opaque, None)

    def is_settled(self, opaque: int) -> bool:
        """Return whether the response to a request is here, or will never arrive."""
        return self.closed or opaque in self._responses

    def take(self, opaque: int) -> RemotingCommand | None:
        """Return the response to a request if it has been read already; else None."""
        return self._responses.pop(opaque, None)

    def poll(self, timeout_ms: int) -> bool:
        """Read the bytes that arrive within ``timeout_ms``; return False if none do.

        Raise RemotingSendRequestError when the connection is lost.
        """
        self.socket.settimeout(timeout_ms / 1000)
        try:
            data = self.socket.recv(READ_BYTES)
        except (TimeoutError, BlockingIOError):
            return False
        except OSError as error:
            raise self._lost() from error
        if not data:
            raise self._lost()
        if self._tls is not None:
            data = self._decrypted(self._tls, data)
        self._received(data)
        return True

    def _received(self, data: bytes) -> None:
        try:
            for command in self._connection.receive_data(data):
                self._take(command)
        except RemoteProtocolError as error:
            raise self._lost() from error

    def _decrypted(self, tls: TlsStream, data: bytes) -> bytes:
        from fakemq.tls.stream import TlsError

        try:
            plain = tls.receive(data)
        except TlsError as error:
            _log.warning("the connection to %s is closed: TLS: %s", self.addr, error)
            raise self._lost() from error
        if tls.ended and not plain:
            raise self._lost()
        return plain

    def close(self) -> None:
        """Close the connection; do nothing if it is closed."""
        self.closed = True
        self.socket.close()

    def _take(self, command: RemotingCommand) -> None:
        if not command.is_response:
            response = self._on_request(self.addr, command)
            if response is None:
                return
            if response.is_oneway:
                response.opaque = self._connection.next_opaque()
            try:
                data = self._connection.encode(response)
            except LocalProtocolError as error:  # a broker asked for more than fits into a frame
                raise self._lost() from error
            self._write(data, CONNECT_TIMEOUT_MS)
        elif command.opaque in self._waiting:
            self._waiting.discard(command.opaque)
            self._responses[command.opaque] = command

    def _write(self, data: bytes, timeout_ms: int) -> None:
        self.socket.settimeout(timeout_ms / 1000)
        try:
            if self._tls is not None:
                self._tls.write(data)
                data = self._tls.data_to_send()
            self.socket.sendall(data)
        except OSError as error:
            raise self._lost() from error
        except BaseException:
            # Ctrl-C in the middle of a frame, perhaps: nothing can follow it.
            self.close()
            raise

    def _lost(self) -> RemotingSendRequestError:
        self.close()
        return RemotingSendRequestError(self.addr)

    def __repr__(self) -> str:
        return f"<channel to {self.addr}, {'closed' if self.closed else 'open'}>"


def encoded(connection: Connection, command: RemotingCommand) -> bytes:
    """Return the frame of a request; raise MQClientError if it fits into none."""
    try:
        return connection.encode(command)
    except LocalProtocolError as error:
        raise MQClientError(str(error)) from error


class BlockingRemoting:
    """Runs operations over plain sockets; for one thread."""

    def __init__(
        self,
        on_request: OnRequest,
        credentials: Credentials | None = None,
        tls: ClientTls | None = None,
    ) -> None:
        self._on_request = on_request
        self._credentials = credentials
        self._tls = tls
        self._pid = os.getpid()
        self._channels: dict[str, BlockingChannel] = {}

    def run(self, operation: Operation[T]) -> T:
        """Run an operation to its end and return its result."""
        try:
            call = next(operation)
            while True:
                try:
                    response = self.call(call)
                except RemotingError as error:
                    call = operation.throw(error)
                else:
                    call = operation.send(response)
        except StopIteration as stop:
            result: T = stop.value
            return result

    def call(self, call: Call) -> RemotingCommand | None:
        """Send one request and return its response, None if it is one-way. Raise RemotingError."""
        addr, command, timeout_ms = call
        channel = self.channel(addr)
        opaque = channel.send(command, timeout_ms=timeout_ms)
        if command.is_oneway:
            return None
        try:
            return channel.receive(opaque, timeout_ms)
        except RemotingTimeoutError:
            channel.close()
            raise

    @property
    def is_inherited(self) -> bool:
        """Whether a fork copied this object: its connections are those of the parent process."""
        return os.getpid() != self._pid

    def _require_own(self) -> None:
        if self.is_inherited:
            raise MQClientError(
                f"this client belongs to process {self._pid}, and this is a forked child of it:"
                " create a client in the child"
            )

    def channel(self, addr: str) -> BlockingChannel:
        """Return the connection to an address; connect if there is none or it was lost.

        Raise RemotingConnectError if no peer answers, MQClientError in a forked child.
        """
        self._require_own()
        channel = self._channels.get(addr)
        if channel is not None:
            try:
                for _ in range(_READS_BETWEEN_REQUESTS):
                    if channel.closed or not channel.poll(0):
                        break
            except RemotingSendRequestError:
                channel.close()
        if channel is None or channel.closed:
            channel = self._channels[addr] = BlockingChannel(
                addr, self._on_request, credentials=self._credentials, tls=self._tls
            )
        return channel

    def poll(self, timeout_ms: int) -> None:
        """Wait up to ``timeout_ms`` for brokers' requests on any connection; answer them.

        Raise MQClientError in a forked child.
        """
        self._require_own()
        with selectors.DefaultSelector() as selector:
            for channel in self._channels.values():
                if not channel.closed:
                    selector.register(channel.socket, selectors.EVENT_READ, channel)
            for key, _ in selector.select(timeout_ms / 1000) if selector.get_map() else ():
                try:
                    key.data.poll(0)
                except RemotingSendRequestError:
                    continue  # it is closed now; the next call connects again

    def close(self) -> None:
        """Close every connection."""
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()
