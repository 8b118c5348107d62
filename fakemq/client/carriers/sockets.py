"""The non-blocking socket of one channel: connects, reads and writes without waiting."""

from __future__ import annotations

import errno
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import NamedTuple, Protocol

from fakemq.client.addresses import split_addr
from fakemq.client.carriers.connections import Channel, ChannelState
from fakemq.forked_sockets import close_in_children

READ_BYTES = 65_536
"""How much of one peer is read before others have their turn. More would need fresh pages."""

_CONNECTING = (errno.EINPROGRESS, errno.EWOULDBLOCK, getattr(errno, "WSAEWOULDBLOCK", -1))


class Address(NamedTuple):
    """Where to connect: a family of `socket` and its kind of address."""

    family: int
    sockaddr: tuple[str | int | bytes, ...]


class SocketEnd(Protocol):
    """What is behind a socket: a channel, or TLS and a channel."""

    def opened(self) -> None: ...
    def data_received(self, data: bytes) -> None: ...
    def lost(self) -> None: ...
    def data_to_send(self) -> memoryview: ...
    def data_sent(self, count: int) -> None: ...


class Wants(Enum):
    """What a wire waits for."""

    CONNECT = auto()
    READ = auto()
    READ_AND_WRITE = auto()
    NOTHING = auto()


_CONNECT, _READ, _READ_AND_WRITE, _NOTHING = Wants


def numeric_address(addr: str) -> Address | None:
    """Return where an address with a numeric host is; None if its name must be resolved."""
    host, port = split_addr(addr)
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return Address(family, (host, port))
    return None


def resolve(addr: str) -> list[Address]:
    """Return where the name of an address is. Wait for the system's resolver; raise OSError."""
    host, port = split_addr(addr)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # no host name for the system
        raise OSError(str(error)) from error
    return [Address(family, sockaddr) for family, _, _, _, sockaddr in found]


class Wire:
    """The socket of a channel. Its owner waits until it is ready for what it ``wants``."""

    def __init__(
        self,
        channel: Channel,
        on_change: Callable[[Wire, socket.socket, Wants], None],
    ) -> None:
        self.channel = channel
        self.wants = _NOTHING
        # Called with the socket and with what was wanted before. The callee closes the socket when
        # nothing is wanted any more, because its loop may still wait for it.
        self._on_change = on_change
        self.socket: socket.socket | None = None
        self._end = self._end_of(channel)
        self._addresses: deque[Address] = deque()
        self._reason = "the name of its host is not known"

    def _end_of(self, channel: Channel) -> SocketEnd:
        if channel.tls is None:
            return channel
        from fakemq.client.carriers.secure import SecureEnd  # most clients are plain

        stream = channel.tls.stream(split_addr(channel.addr)[0])
        return SecureEnd(channel, stream, self.write)

    def connect(self, addresses: Iterable[Address]) -> None:
        """Connect to the first of these addresses that accepts.

        Until `Wants.CONNECT` is over, its owner calls `connect_ready` when it can be written.
        """
        if self.channel.state is not ChannelState.CONNECTING:
            return
        self._addresses.extend(addresses)
        self._connect_next()

    def _connect_next(self) -> None:
        while self._addresses:
            family, sockaddr = self._addresses.popleft()
            try:
                sock = socket.socket(family, socket.SOCK_STREAM)
            except OSError as error:  # no descriptor is left, or no IPv6
                self._reason = error.strerror or str(error)
                continue
            close_in_children(sock)
            self.socket = sock
            sock.setblocking(False)
            try:
                code = sock.connect_ex(sockaddr)
            except OSError:  # not an address for connect
                code = errno.EINVAL
            if code == 0:
                self._connected(sock)
                return
            if code in _CONNECTING:
                self._want(sock, _CONNECT)
                return
            self._failed(code)
        self.channel.connect_failed(self._reason)

    def _failed(self, code: int) -> None:
        self._reason = os.strerror(code)
        self.close()

    def connect_ready(self) -> None:
        """The attempt has ended: take its result, or try the next address."""
        sock = self.socket
        if sock is None:
            return
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code == 0:
            self._connected(sock)
        else:
            self._failed(code)
            self._connect_next()

    def _connected(self, sock: socket.socket) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:  # macOS: the peer has reset the connection already
            self.channel.connect_failed()
            return
        self._want(sock, _READ)
        self._end.opened()

    def _want(self, sock: socket.socket, wants: Wants) -> None:
        before, self.wants = self.wants, wants
        if wants is not before or wants is _NOTHING:
            self._on_change(self, sock, before)

    def receive(self) -> bytes | None:
        """Read once; return the bytes, none at the connection's end, None if nothing arrived."""
        if self.socket is None:
            return None
        try:
            return self.socket.recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return b""

    def take(self, data: bytes) -> None:
        """Pass what `receive` returned to the channel; do nothing if it is closed since."""
        if self.socket is None:
            return
        if data:
            self._end.data_received(data)
        else:
            self._end.lost()

    def write(self) -> None:
        """Write what the channel has to send, as much as the system takes."""
        sock, end = self.socket, self._end
        if sock is None or self.wants is _CONNECT:
            return
        while data := end.data_to_send():
            try:
                count = sock.send(data)
            except (BlockingIOError, InterruptedError):
                self._want(sock, _READ_AND_WRITE)
                return
            except OSError:
                end.lost()
                return
            end.data_sent(count)
        if self.wants is not _READ:
            self._want(sock, _READ)

    def close(self) -> None:
        """Give up the socket; do nothing if there is none."""
        sock, self.socket = self.socket, None
        if sock is not None:
            self._want(sock, _NOTHING)
