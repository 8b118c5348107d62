"""The control port itself: uvicorn's protocol behind a port of ours, on the cluster's own loop.

uvicorn's server has no loop of its own here, no signals, and no say in logging.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from fakemq.control.app import Guard, make_app
from fakemq.control.control import Control
from fakemq.serving.listener import Port

if TYPE_CHECKING:
    from fakemq.config.spec import ControlSpec
    from fakemq.serving.server import ClusterServer

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LAST_WORDS_S = 1.0


class _Config(uvicorn.Config):
    """A config that leaves logging as it is."""

    def configure_logging(self) -> None:
        pass


class _Protocol(H11Protocol):
    """One connection; it logs to our logger, and writes no access log."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.access_log = False
        self.logger = logging.getLogger("fakemq")


async def open_control(spec: ControlSpec, server: ClusterServer) -> str:
    """Open the control port of a running server, which closes it; return its URL."""
    port = ControlPort(server, spec)
    server.attach(port)
    await port.open()
    return port.url


class ControlPort:
    """Listens from ``open`` to ``close``; FakemqError if the port is somebody else's."""

    def __init__(self, server: ClusterServer, spec: ControlSpec) -> None:
        self._port = Port(spec.listen, spec.port, "control port")
        self._control = Control(server)
        hosts = LOOPBACK | {spec.listen} if spec.on_loopback else None
        config = _Config(
            make_app(self._control, Guard(spec.token, hosts)),
            http=_Protocol,
            ws="none",
            lifespan="off",
            proxy_headers=False,
            server_header=False,
            date_header=False,
            access_log=False,
            log_config=None,
        )
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)

    @property
    def url(self) -> str:
        """Where it is, as in ``http://127.0.0.1:8080``."""
        return f"http://{self._port.addr}"

    async def open(self) -> None:
        """Listen. The server's main loop, which wakes ten times a second, is not begun."""
        await self._server.startup(sockets=[self._port.listener()])

    async def close(self) -> None:
        """Answer what is being asked, close everything, give the port back."""
        self._port.close()
        for listening in getattr(self._server, "servers", ()):
            listening.close()
        self._control.close()
        state = self._server.server_state
        for connection in list(state.connections):
            connection.shutdown()
        # Not the one by which a request may have asked for this.
        asked = state.tasks - {asyncio.current_task()}
        if asked:
            await asyncio.wait(asked, timeout=_LAST_WORDS_S)
        for connection in list(state.connections):
            connection.transport.abort()
