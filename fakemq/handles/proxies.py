"""The handle on the gRPC front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import FakemqError
from fakemq.handles.clock import NodeClockHandle
from fakemq.handles.running import Handle, Running

if TYPE_CHECKING:
    from fakemq.proxy.proxy import Proxy


class ProxyHandle(Handle):
    """The front of gRPC clients; the same for synchronous and asynchronous tests.

    Raise FakemqError for a cluster without one.
    """

    def __init__(self, running: Running) -> None:
        super().__init__(running)
        self.name = self._proxy.name
        self.addr = self._running().server.grpc_addr
        """``host:port`` that clients are given."""

    @property
    def _proxy(self) -> Proxy:
        proxy = self._core.proxy
        if proxy is None:
            raise FakemqError("this cluster has no gRPC port: start it with grpc=True")
        return proxy

    @property
    def remoting_addr(self) -> str:
        """``host:port`` at which it takes clients that speak remoting: their namesrvAddr.

        Raise FakemqError for one without such a port.
        """
        addr = self._running().server.proxy_remoting_addr
        if not addr:
            raise FakemqError(
                "this proxy has no such port: start the cluster with proxy_remoting=True"
            )
        return addr

    @property
    def metrics_addr(self) -> str:
        """``host:port`` at which Prometheus reads its metrics; FakemqError without such a port."""
        return self._metrics_addr(self.name)

    @property
    def clock(self) -> NodeClockHandle:
        """The clock as the front sees it; `NodeClockHandle.skew` makes it wrong."""
        return NodeClockHandle(self._running, lambda: self._proxy.clock)

    @property
    def state(self) -> str:
        """``running``, ``paused`` or ``stopped``."""
        return self._call(lambda: self._proxy.state.value)

    def kill(self) -> None:
        """Kill the front at once, as by kill -9; its port refuses connections."""
        self._call(lambda: self._running().server.stop_proxy("kill"))

    def stop(self) -> None:
        """Stop the front; messages whose time it prolongs become visible after a second."""
        self._call(lambda: self._running().server.stop_proxy())

    def restart(self) -> None:
        """Start it again at the same address; it knows no clients until they connect again."""
        self._call(lambda: self._running().server.restart_proxy())

    def pause(self) -> None:
        """Pause, as by SIGSTOP: sockets stay open, nothing answers, no timer fires."""
        self._call(lambda: self._proxy.pause())

    def resume(self) -> None:
        """Continue after `pause`; what arrived and fell due meanwhile is handled now."""
        self._call(lambda: self._proxy.resume())

    def __repr__(self) -> str:
        return f"<proxy {self.name} at {self.addr}, {self.state}>"
