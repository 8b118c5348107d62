"""A listening port, and what becomes of a connection that reaches it."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable

from fakemq.net.held import HeldBytes
from fakemq.net.session import Accept, Endpoint, Link
from fakemq.net.tcp import BACKLOG, Port, TcpLink

PAUSE_S = 1.0
"""How long nothing is accepted when there are no descriptors left."""
SPARE_DESCRIPTORS = 32
"""So many are left alone: who opens a file, or has a module imported, must not fail."""


class Listener:
    """Listens at ``port`` and has ``accept`` make the endpoints.

    When descriptors run out ``on_refused`` is told, and who connects waits in the backlog, as with
    Java. asyncio's own server, closed in the turn in which it accepted a connection, leaves that
    neither served nor closed (3.11); here it is closed.
    """

    def __init__(
        self,
        port: Port,
        accept: Accept,
        held: HeldBytes | None = None,
        on_refused: Callable[[str], None] = lambda why: None,
    ) -> None:
        self._port = port
        self._accept = accept
        self._held = held
        self._on_refused = on_refused
        self._sock: socket.socket | None = None
        self._tasks: set[asyncio.Task[object]] = set()

    def open(self) -> None:
        sock = self._sock = self._port.listener()
        self._watch(sock)

    def close(self) -> None:
        """Refuse connections from now on; those that were accepted stay."""
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
        for _ in range(BACKLOG):
            try:
                connection, _ = sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._refuse(sock, error.strerror or str(error))
                return
            if connection.fileno() >= most:  # the system gives the lowest that is free
                connection.close()
                self._refuse(sock, f"all but {SPARE_DESCRIPTORS} descriptors are in use")
                return
            connection.setblocking(False)
            self._serve(sock, connection)

    def _refuse(self, sock: socket.socket, why: str) -> None:
        """Accept nothing for a while."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(sock)
        loop.call_later(PAUSE_S, self._watch, sock)
        self._on_refused(f"accepts no connection for {PAUSE_S:g} s: {why}")

    def _serve(self, sock: socket.socket, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        task: asyncio.Task[object] = loop.create_task(
            loop.connect_accepted_socket(
                lambda: TcpLink(lambda link: self._take(sock, link), self._held), connection
            )
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take(self, sock: socket.socket, link: Link) -> Endpoint | None:
        # A node that has been stopped since, or even started again, knows nothing of it.
        return self._accept(link) if self._sock is sock else None


def descriptor_limit() -> int:
    """How many descriptors this process may have."""
    try:
        import resource
    except ImportError:  # Windows, whose sockets are no descriptors
        return sys.maxsize
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
