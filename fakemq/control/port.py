"""The control port's listener: uvicorn's HTTP protocol on a port of ours, on the cluster's loop.

uvicorn starts no loop of its own here, handles no signals and configures no logging.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.server import ServerState

from fakemq.control.app import Guard, make_app
from fakemq.control.connection import HttpConnection
from fakemq.control.control import Control
from fakemq.core.views import NODE
from fakemq.serving.listener import Acceptor, Port

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from fakemq.config.control import ControlSpec
    from fakemq.serving.server import ClusterServer

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LAST_ANSWERS_S = 1.0
"""How long `ControlPort.close` waits, in real seconds, for answers to requests in progress."""


class _Config(uvicorn.Config):
    """uvicorn's configuration, without its change of the process's logging."""

    def configure_logging(self) -> None:
        pass


def http_config(app: ASGIApp) -> uvicorn.Config:
    """Return the configuration of connections that ``app`` answers."""
    config = _Config(
        app,
        interface="asgi3",
        ws="none",
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        date_header=False,
        log_config=None,
    )
    config.load()
    return config


async def open_control(spec: ControlSpec, server: ClusterServer) -> str:
    """Open the control port of a running server and return its URL; the server closes it."""
    port = ControlPort(server, spec)
    server.attach(port)
    port.open()
    return port.url


class ControlPort:
    """Listens from `open` to `close`. FakemqError if another process has the port."""

    def __init__(self, server: ClusterServer, spec: ControlSpec) -> None:
        use = "control port"
        self._port = Port(spec.listen, spec.port, use, "control_port")
        self._control = Control(server)
        hosts = LOOPBACK | {spec.listen} if spec.on_loopback else None
        config = http_config(make_app(self._control, Guard(spec.token, hosts)))
        state = self._state = ServerState()
        warn = partial(server.core.journal.peer_warnings.warn, NODE, use)
        self._acceptor = Acceptor(
            self._port, lambda _: HttpConnection(config, state, use, warn), warn
        )

    @property
    def url(self) -> str:
        """The port's URL, as in ``http://127.0.0.1:8080``."""
        return f"http://{self._port.addr}"

    def open(self) -> None:
        """Begin to listen. uvicorn's main loop is not started, as it wakes ten times a second."""
        self._acceptor.open()

    async def close(self) -> None:
        """Answer the requests in progress, close every connection, release the port."""
        self._port.close()
        self._acceptor.close()
        self._control.close()
        await self._acceptor.settled()
        state = self._state
        for connection in list(state.connections):
            connection.shutdown()
        # This may run in the task of a request to stop the cluster: it must not wait for itself.
        asked = state.tasks - {asyncio.current_task()}
        if asked:
            await asyncio.wait(asked, timeout=_LAST_ANSWERS_S)
        for connection in list(state.connections):
            connection.transport.abort()
