"""The ports at which Prometheus reads the metrics of nodes.

A port is open while its node runs, and answers while it is not paused. What it answers is that of
Java's exporter, but for two things: an HTTP server of Java's own library also speaks protobuf, and
describes itself at other paths.
Source: io.prometheus.metrics.exporter.common.PrometheusScrapeHandler (1.3.3)
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response
from uvicorn.server import ServerState

from fakemq.control.app import Guard, LongList, unless_gone
from fakemq.control.connection import HttpConnection
from fakemq.control.port import LOOPBACK, http_config
from fakemq.control.results import Refusal
from fakemq.dispatch.node import NodeState
from fakemq.errors import FakemqError
from fakemq.events.core import NodeStopped, failure
from fakemq.metrics.text import OPEN_METRICS, PLAIN, compressed, exposition, names
from fakemq.serving.listener import Acceptor, Port

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from fakemq.journal.entries import Entry
    from fakemq.metrics.nodes import Exporter
    from fakemq.serving.server import ClusterServer

MOST_AT_ONCE: Final = 4
"""How many scrapes of a node are answered together; others wait. Each holds all of its text until
its peer has read it, or has not for `connection.ANSWER_S`."""
_HEALTHY = "Exporter is healthy.\n"
_ELSEWHERE = (
    '<html><body>The metrics are at <a href="metrics">/metrics</a>, some of them at'
    " /metrics?name[]=NAME.</body></html>\n"
)


async def open_metrics(server: ClusterServer) -> None:
    """Open the metrics ports of a running server; each closes and opens with its node."""
    for name, (exporter, port) in server.exporters.items():
        server.listen_beside(name, MetricsAcceptor(server, exporter, port))


class _Exposition(LongList):
    """A text in parts."""

    def __init__(self, parts: list[bytes], headers: Mapping[str, str]) -> None:
        super().__init__(parts)
        del self.headers["content-type"]
        self.headers.update(headers)


class MetricsAcceptor(Acceptor):
    """Listens at the metrics port of one node."""

    def __init__(self, server: ClusterServer, exporter: Exporter, port: Port) -> None:
        self._server = server
        self._exporter = exporter
        loopback = port.host in LOOPBACK or port.host.startswith("127.")
        self._guard = Guard(None, LOOPBACK | {port.host} if loopback else None)
        self._resumed = asyncio.Event()
        """Set when the node resumes, or stops, while requests wait for that."""
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)
        node, use = exporter.node.name, "metrics port"
        config, self._state = http_config(self._answer), ServerState()
        warn = partial(server.core.journal.peer_warnings.warn, node, use)
        server.core.journal.listen(self._on_entry, NodeStopped)

        def make(_: socket.socket) -> HttpConnection:
            return HttpConnection(config, self._state, use, warn)

        super().__init__(port, make, warn)

    def close(self) -> None:
        """Refuse connections from now on, and end those that are open, as a process that ends."""
        super().close()
        for connection in list(self._state.connections):
            connection.transport.abort()
        self._resumed.set()

    def _on_entry(self, entry: Entry) -> None:
        if entry.event.node == self._exporter.node.name:
            self._resumed.set()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._guard.check_host(scope)
            self._guard.check_site(scope, is_page=False)
            await unless_gone(receive, self._turn())
        except Refusal as refusal:
            response = Response(f"{refusal}\n", refusal.status, media_type="text/plain")
            await response(scope, receive, send)
            return
        try:
            response = await self._response_or_error(scope)
            await response(scope, receive, send)
        finally:
            self._turns.release()

    async def _turn(self) -> None:
        """Wait while the node is paused, or enough others are answered."""
        while self._exporter.node.state is NodeState.PAUSED:
            self._resumed.clear()
            await self._resumed.wait()
        await self._turns.acquire()

    async def _response_or_error(self, scope: Scope) -> Response:
        try:
            return await self._response(scope)
        except FakemqError as error:  # the cluster was reset meanwhile
            return Response(f"{error}\n", 503, media_type="text/plain")
        except Exception as error:
            self._server.core.journal.add(failure(self._exporter.node.name, None, error))
            return Response("a bug of fakemq, see its log\n", 500, media_type="text/plain")

    async def _response(self, scope: Scope) -> Response:
        path = scope["path"]
        if path.startswith("/-/healthy"):
            return Response(_HEALTHY, media_type="text/plain")
        if not path.startswith("/metrics"):
            return Response(_ELSEWHERE, media_type="text/html")
        headers = Request(scope).headers
        open_metrics = "application/openmetrics-text" in headers.get("accept", "")
        families = await self._server.carry_out(self._exporter.metrics.read())
        wanted = set(parse_qs(scope["query_string"].decode("latin-1")).get("name[]", ()))
        if wanted:
            families = [one for one in families if not wanted.isdisjoint(names(one))]
        parts = await self._server.carry_out(exposition(families, open_metrics=open_metrics))
        answered = {"Content-Type": OPEN_METRICS if open_metrics else PLAIN}
        if "gzip" in headers.get("accept-encoding", ""):
            parts = await self._server.carry_out(compressed(parts))
            answered["Content-Encoding"] = "gzip"
        return _Exposition(parts, answered)
