"""Handles on brokers.

`BrokerView` looks at a broker and changes what takes effect at once. The handles for synchronous
and asynchronous tests add what waits: blocking in the one, awaited in the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.awaited import must_be_awaited
from fakemq.clock.durations import Size, size_bytes
from fakemq.config import checked
from fakemq.handles.clock import NodeClockHandle
from fakemq.handles.running import Handle, Running, in_thread

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.config.files import ConfigSource


class BrokerView(Handle):
    """One broker: looking at it, and what happens to it at once."""

    def __init__(self, running: Running, broker: Broker) -> None:
        super().__init__(running)
        self.name = broker.name
        self.addr = broker.addr
        """``host:port`` that clients use."""
        self.vip_addr = broker.vip_addr
        self.ha_addr = broker.ha_addr

    @property
    def _broker(self) -> Broker:
        return self._core.broker(self.name)  # another one after the cluster was started again

    @property
    def metrics_addr(self) -> str:
        """``host:port`` at which Prometheus reads its metrics; FakemqError without such a port."""
        return self._metrics_addr(self.name)

    @property
    def state(self) -> str:
        """``running``, ``paused``, ``stopping`` or ``stopped``."""
        return self._call(lambda: self._broker.state.value)

    @property
    def clock(self) -> NodeClockHandle:
        """The clock as this broker sees it; `NodeClockHandle.skew` makes it wrong."""
        return NodeClockHandle(self._running, lambda: self._broker.clock)

    def kill(self, *, lose_unsynced: bool = False) -> None:
        """Kill the broker at once, as by kill -9.

        ``lose_unsynced=True`` also loses the bytes that no flush has written, as a power failure.
        """
        checked.flag("lose_unsynced", lose_unsynced)
        self._call(lambda: self._running().server.kill_broker(self._broker, lose_unsynced))

    def set_disk_size(self, size: Size | None) -> None:
        """Set the size of the store's disk, as in ``"64MiB"`` or in bytes; None: the real size."""
        disk_bytes = None if size is None else size_bytes(size, name="set_disk_size")
        self._call(lambda: self._broker.store.disk_space.resize(disk_bytes))

    def pause(self) -> None:
        """Pause, as by SIGSTOP: sockets stay open, nothing answers, no timer fires."""
        self._call(self._broker.pause)

    def resume(self) -> None:
        """Continue after `pause`; what arrived and fell due meanwhile is handled now."""
        self._call(self._broker.resume)

    def _stop(self) -> None:
        self._running().wait(self._running().server.stop_broker(self._broker))

    def _restart(self, config: ConfigSource) -> None:
        self._running().wait(self._running().server.restart_broker(self._broker, config))

    def __repr__(self) -> str:
        return f"<broker {self.name} at {self.addr}, {self.state}>"


class BrokerHandle(BrokerView):
    """A broker of a `Cluster`."""

    def stop(self) -> None:
        """Stop cleanly: unregister at every name server, then close."""
        self._stop()

    def restart(self, config: ConfigSource = {}) -> None:  # noqa: B006
        """Start the broker again on the same ports with its data; ``config`` has keys to change."""
        self._restart(config)

    def promote(self, role: str = "ASYNC_MASTER") -> None:
        """Restart the broker as the master of its brokerName; stop or demote the old one before."""
        self._restart(promoted(role))

    def demote(self, broker_id: int) -> None:
        """Restart the broker as a slave of its brokerName, with an id that no other has."""
        self._restart(demoted(broker_id))


@must_be_awaited
class AsyncBrokerHandle(BrokerView):
    """A broker of an `AsyncCluster`; see `BrokerHandle`."""

    async def stop(self) -> None:
        """Stop cleanly, as `BrokerHandle.stop`."""
        await in_thread(self._stop)

    async def restart(self, config: ConfigSource = {}) -> None:  # noqa: B006
        """Start the broker again, as `BrokerHandle.restart`."""
        await in_thread(lambda: self._restart(config))

    async def promote(self, role: str = "ASYNC_MASTER") -> None:
        """Restart the broker as a master, as `BrokerHandle.promote`."""
        await in_thread(lambda: self._restart(promoted(role)))

    async def demote(self, broker_id: int) -> None:
        """Restart the broker as a slave, as `BrokerHandle.demote`."""
        await in_thread(lambda: self._restart(demoted(broker_id)))


def promoted(role: str) -> ConfigSource:
    """Return the config keys that make a broker the master of its brokerName."""
    return {"brokerRole": role, "brokerId": 0}


def demoted(broker_id: int) -> ConfigSource:
    """Return the config keys that make a broker a slave of its brokerName."""
    return {"brokerRole": "SLAVE", "brokerId": broker_id}
