"""Handles on name servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.handles.clock import NodeClockHandle
from fakemq.handles.running import Handle, Running

if TYPE_CHECKING:
    from fakemq.namesrv.namesrv import NameServer


class NameServerHandle(Handle):
    """A name server; the same for synchronous and asynchronous tests, as nothing here waits."""

    def __init__(self, running: Running, name_server: NameServer) -> None:
        super().__init__(running)
        self.name = name_server.name
        self.addr = name_server.addr
        """``host:port`` that clients are given."""

    @property
    def _name_server(self) -> NameServer:
        return self._core.name_servers_called(self.name)[0]

    @property
    def clock(self) -> NodeClockHandle:
        """The clock as this name server sees it; `NodeClockHandle.skew` makes it wrong."""
        return NodeClockHandle(self._running, lambda: self._name_server.clock)

    @property
    def state(self) -> str:
        """``running``, ``paused`` or ``stopped``."""
        return self._call(lambda: self._name_server.state.value)

    def kill(self) -> None:
        """Kill the name server at once, as by kill -9; its port refuses connections."""
        self._call(lambda: self._running().server.stop_name_server(self._name_server, "kill"))

    def stop(self) -> None:
        """Stop the name server; after a restart it knows no brokers, as after `kill`."""
        self._call(lambda: self._running().server.stop_name_server(self._name_server))

    def restart(self) -> None:
        """Start it again at the same address; it knows no brokers until they register again."""
        self._call(lambda: self._running().server.restart_name_server(self._name_server))

    def pause(self) -> None:
        """Pause, as by SIGSTOP: sockets stay open, nothing answers, no timer fires."""
        self._call(lambda: self._name_server.pause())

    def resume(self) -> None:
        """Continue after `pause`; what arrived and fell due meanwhile is handled now."""
        self._call(lambda: self._name_server.resume())

    def __repr__(self) -> str:
        return f"<name server {self.name} at {self.addr}, {self.state}>"
