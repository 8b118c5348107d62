"""A listening port, and what becomes of a connection that reaches it."""

from __future__ import annotations

import asyncio
import socket

from fakemq.net.session import Accept, Endpoint, Link
from fakemq.net.tcp import BACKLOG, Port, TcpLink

PAUSE_S = 1.0
"""How long nothing is accepted after the system refused to."""


class Listener:
    """Listens at ``port`` and has ``accept`` make the endpoints.

    asyncio's own server, closed in the turn in which it accepted a connection, leaves that neither
    served nor closed (3.11); here it is closed.
    """

    def __init__(self, port: Port, accept: Accept) -> None:
        self._port = port
        self._accept = accept
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
        loop = asyncio.get_running_loop()
        for _ in range(BACKLOG):
            try:
                connection, _ = sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                # Out of descriptors, most likely; who connects meanwhile waits in the backlog.
                loop.remove_reader(sock)
                loop.call_later(PAUSE_S, self._watch, sock)
                return
            connection.setblocking(False)
            task: asyncio.Task[object] = loop.create_task(
                loop.connect_accepted_socket(
                    lambda: TcpLink(lambda link: self._take(sock, link)), connection
                )
            )
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _take(self, sock: socket.socket, link: Link) -> Endpoint | None:
        # A node that has been stopped since, or even started again, knows nothing of it.
        return self._accept(link) if self._sock is sock else None
