"""TCP of a cluster: ports that stay reserved, listening, and connecting."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeAlias

from fakemq.config.keys import NettyServerKeys
from fakemq.errors import FakemqError
from fakemq.forked_sockets import close_in_children
from fakemq.net.held import HeldBytes
from fakemq.net.link import Accept, Endpoint, EndpointT, Link
from fakemq.net.memory import OpenLinks
from fakemq.net.outbound import CONNECT_TIMEOUT_MS
from fakemq.net.tcp import Door, TcpLink
from fakemq.protocol.hosts import format_host, host_of
from fakemq.store.descriptors import SPARE_DESCRIPTORS, descriptor_limit

if TYPE_CHECKING:
    from fakemq.tls.stream import TlsStream

_BROKER_TRIES = 100
_LOWER_PORTS = range(12_000, 32_000, 4)
PAUSE_S = 1.0
"""How long, in real seconds, no connection is accepted after the descriptors ran out."""
_MOST_AT_ONCE = 1024
"""How many connections are accepted in one turn."""


LinkType: TypeAlias = "Callable[..., TcpLink[Endpoint]]"
"""What makes a link of an accepted connection, called as `TcpLink`."""


class SocketOptions(Protocol):
    """The keys of Java's NettyServerConfig that sockets obey from the start of their node on."""

    server_socket_backlog: int
    server_socket_snd_buf_size: int
    server_socket_rcv_buf_size: int


DEFAULTS: SocketOptions = NettyServerKeys()
"""Those of a node whose config says nothing, and of HA ports."""


class Port:
    """A TCP port that this process reserves until `close`, whether its node listens or not.

    A first socket is bound and never listens. While the node is down, connects are therefore
    refused, no other process gets the port, and a restart finds it free. A second socket on the
    same port listens. ``use`` and ``option`` are for the error, a
    ``PortTakenError``, if it is in use already; without an option it is only tried.
    """

    def __init__(self, host: str, port: int, use: str = "", option: str = "") -> None:
        self.host = host
        self._holder = _bind(host, port, use, option)
        self.port: int = self._holder.getsockname()[1]

    @property
    def addr(self) -> str:
        return format_host((self.host, self.port))

    def listener(self, options: SocketOptions = DEFAULTS) -> socket.socket:
        """Return a new listening socket on this port; its connections inherit ``options``."""
        # By its number: asyncio turns Nagle's algorithm off for what is TCP by name only.
        sock = socket.socket(self._holder.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        close_in_children(sock)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            for option, size_bytes in (
                (socket.SO_SNDBUF, options.server_socket_snd_buf_size),
                (socket.SO_RCVBUF, options.server_socket_rcv_buf_size),
            ):
                if size_bytes > 0:
                    sock.setsockopt(socket.SOL_SOCKET, option, size_bytes)
            sock.bind((self.host, self.port))
            sock.listen(options.server_socket_backlog)
        except OSError:
            sock.close()
            raise
        sock.setblocking(False)
        return sock

    def close(self) -> None:
        self._holder.close()


def _bind(host: str, port: int, use: str, option: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    close_in_children(sock)
    try:
        if port:
            # Only so that connections of an earlier run in TIME_WAIT are no hindrance; a port
            # with a listener is refused nevertheless.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        # Set after the bind: the bind checks that the port is free, and now our listener may join.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    except OSError as error:
        sock.close()
        if option and error.errno == errno.EADDRINUSE:
            from fakemq.serving.taken_ports import PortTakenError  # most ports are free

            raise PortTakenError(host, port, use, option) from error
        where = format_host((host, port)) + (use and f" ({use})")
        raise FakemqError(f"cannot listen on {where}: {error.strerror}") from error
    return sock


class BrokerPorts:
    """The three ports of a broker: main, VIP (main - 2) and HA (main + 1)."""

    def __init__(self, host: str, port: int, node: str = "a broker") -> None:
        if port:
            three = _broker_ports(host, port, node, "broker_port")
        else:
            three = _free_broker_ports(host, node)
        self.main, self.vip, self.ha = three

    def close(self) -> None:
        for port in (self.main, self.vip, self.ha):
            port.close()


def _broker_ports(host: str, port: int, node: str, option: str = "") -> tuple[Port, Port, Port]:
    ports: list[Port] = []
    try:
        for number, kind in ((port, "main"), (port - 2, "VIP"), (port + 1, "HA")):
            ports.append(Port(host, number, f"{kind} port of {node}", option))
    except (FakemqError, OverflowError):
        for held in ports:
            held.close()
        raise
    main, vip, ha = ports
    return main, vip, ha


def _free_broker_ports(host: str, node: str) -> tuple[Port, Port, Port]:
    for port in _free_ports(host):
        with suppress(FakemqError, OverflowError):
            return _broker_ports(host, port, node)
    raise FakemqError(f"no three free ports (n, n-2, n+1) on {host}")


def _free_ports(host: str) -> Iterator[int]:
    """Yield ports that are free, or were; first those that the system chooses.

    After 14,000 connections within a minute every second port of Linux's range waits in TIME_WAIT:
    then the neighbours of a free port are free only below that range.
    """
    port = 0
    for _ in range(_BROKER_TRIES):
        free = Port(host, 0)
        port = free.port
        free.close()
        yield port
    for number in range(len(_LOWER_PORTS)):
        yield _LOWER_PORTS[(port + number) % len(_LOWER_PORTS)]


class Acceptor:
    """Listens at ``port`` and calls ``make`` for the asyncio protocol of each connection.

    ``make`` gets the listening socket. When descriptors run out the acceptor calls ``on_refused``,
    and new connections wait in the backlog, as in Java. asyncio's own server has a defect (3.11):
    closed in the turn in which it accepts a connection, it leaves the connection open and unserved.
    This class closes it.
    """

    def __init__(
        self,
        port: Port,
        make: Callable[[socket.socket], asyncio.BaseProtocol],
        on_refused: Callable[[str], None] = lambda why: None,
        options: SocketOptions = DEFAULTS,
    ) -> None:
        self._port = port
        self._options = options
        self._make = make
        self._on_refused = on_refused
        self._sock: socket.socket | None = None
        self._tasks: set[asyncio.Task[object]] = set()

    def open(self) -> None:
        sock = self._sock = self._port.listener(self._options)
        self._watch(sock)

    def close(self) -> None:
        """Refuse connections from now on; accepted connections stay."""
        sock, self._sock = self._sock, None
        if sock is not None:
            asyncio.get_running_loop().remove_reader(sock)
            sock.close()

    async def settled(self) -> None:
        """Wait until every accepted connection has its endpoint, or is closed."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _watch(self, sock: socket.socket) -> None:
        if self._sock is sock:
            asyncio.get_running_loop().add_reader(sock, self._accept_all, sock)

    def _accept_all(self, sock: socket.socket) -> None:
        most = descriptor_limit() - SPARE_DESCRIPTORS
        for _ in range(_MOST_AT_ONCE):
            try:
                connection, _ = sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._refuse(sock, error.strerror or str(error))
                return
            if connection.fileno() >= most:  # the system returns the lowest free one
                connection.close()
                self._refuse(sock, f"all but {SPARE_DESCRIPTORS} descriptors are in use")
                return
            connection.setblocking(False)
            close_in_children(connection)
            self._serve(sock, connection)

    def _refuse(self, sock: socket.socket, why: str) -> None:
        """Accept no connection for a while."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(sock)
        loop.call_later(PAUSE_S, self._watch, sock)
        self._on_refused(f"accepts no connection for {PAUSE_S:g} s: {why}")

    def _serve(self, sock: socket.socket, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        task: asyncio.Task[object] = loop.create_task(
            loop.connect_accepted_socket(lambda: self._make(sock), connection)
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Listener(Acceptor):
    """Listens at ``port`` for a node and calls ``accept`` to make the endpoint of each link."""

    def __init__(
        self,
        port: Port,
        accept: Accept,
        held: HeldBytes | None = None,
        on_refused: Callable[[str], None] = lambda why: None,
        links: OpenLinks | None = None,
        door: Door | None = None,
        options: SocketOptions = DEFAULTS,
        link_type: LinkType = TcpLink,
    ) -> None:
        def make(sock: socket.socket) -> TcpLink[Endpoint]:
            # The node may have been stopped or restarted when the connection is made; it has no
            # such connection then.
            return link_type(
                lambda link: accept(link) if self._sock is sock else None, held, links, door
            )

        super().__init__(port, make, on_refused, options)


class TcpConnector:
    """Outgoing TCP connections of a cluster's nodes.

    ``stream_to`` returns this end of a TLS connection to a host; ``warn`` gets the reason if there
    can be none.
    """

    def __init__(
        self,
        held: HeldBytes | None = None,
        links: OpenLinks | None = None,
        stream_to: Callable[[str], TlsStream] | None = None,
        warn: Callable[[str], None] = lambda why: None,
    ) -> None:
        self._held = held
        self._links = links
        self._stream_to = stream_to
        self._warn = warn
        self._tasks: set[asyncio.Task[None]] = set()

    def open(
        self,
        addr: str,
        make: Callable[[Link], EndpointT],
        opened: Callable[[EndpointT | None], None],
        by_tls: bool = False,
    ) -> None:
        """Connect to ``addr``; call ``opened`` with the new endpoint, or None on failure."""
        task = asyncio.get_running_loop().create_task(self._connect(addr, make, opened, by_tls))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(
        self,
        addr: str,
        make: Callable[[Link], EndpointT],
        opened: Callable[[EndpointT | None], None],
        by_tls: bool,
    ) -> None:
        loop = asyncio.get_running_loop()
        stream = None
        try:
            if by_tls and self._stream_to is not None:
                stream = self._stream_to(host_of(addr))
            async with asyncio.timeout(CONNECT_TIMEOUT_MS / 1000):
                sock = await _connected(addr)
                _, link = await loop.create_connection(
                    lambda: TcpLink(make, self._held, self._links, stream=stream), sock=sock
                )
        except FakemqError as error:
            self._warn(f"cannot connect to {addr} by TLS: {error}")
            opened(None)
            return
        except (OSError, OverflowError, ValueError):  # no listener there, or not an address
            opened(None)
            return
        opened(link.endpoint)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _connected(addr: str) -> socket.socket:
    """Return a socket that is connected to ``host:port``. Raise OSError, ValueError."""
    host, port = host_of(addr), addr.rpartition(":")[2]
    loop = asyncio.get_running_loop()
    failure: OSError = OSError(f"{host} has no address")
    for family, kind, number, _, address in await loop.getaddrinfo(
        host, int(port), type=socket.SOCK_STREAM
    ):
        sock = socket.socket(family, kind, number)
        close_in_children(sock)
        sock.setblocking(False)
        try:
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure
