"""Endpoints of the cluster's state, and to stop, start, pause and skew its nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fakemq.config.files import ConfigSource
from fakemq.config.layout import MEMORY
from fakemq.control.clock import ClockState, clock_state
from fakemq.control.control import Control
from fakemq.control.endpoints import RequestBody, endpoint
from fakemq.control.results import Duration, Refusal
from fakemq.handles.brokers import demoted, promoted
from fakemq.handles.name_servers import NameServerHandle
from fakemq.handles.proxies import ProxyHandle
from fakemq.protocol.bodies.body import Long

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker

Node = TypeVar("Node")
State = TypeVar("State")


class NameServerState(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """Its node's name, such as ``namesrv-0``."""
    state: str
    """``running``, ``paused`` or ``stopped``."""
    skew_ms: int
    """How far its clock is ahead of the cluster's."""
    addr: str

    @classmethod
    def of(cls, node: NameServerHandle) -> NameServerState:
        return cls(name=node.name, state=node.state, skew_ms=node.clock.skew_ms, addr=node.addr)


class BrokerState(msgspec.Struct, frozen=True, kw_only=True):
    """A broker; addresses are ``host:port``."""

    name: str
    """Its node's name, such as ``broker-a-0``."""
    broker_name: str
    broker_id: int
    role: str
    state: str
    """``running``, ``paused``, ``stopping`` or ``stopped``."""
    skew_ms: int
    """How far its clock is ahead of the cluster's."""
    addr: str
    vip_addr: str
    ha_addr: str
    store: str
    """``"memory"``, or the folder it writes to."""

    @classmethod
    def of(cls, node: Broker) -> BrokerState:
        config = node.config
        return cls(
            name=node.name,
            broker_name=config.broker_name,
            broker_id=config.broker_id,
            role=node.role.name,
            state=node.state.value,
            skew_ms=node.clock.skew_ms,
            addr=node.addr,
            vip_addr=node.vip_addr,
            ha_addr=node.ha_addr,
            store=config.store_path_root_dir or MEMORY,
        )


class ProxyState(msgspec.Struct, frozen=True, kw_only=True):
    """The front of gRPC clients."""

    name: str
    """Its node's name, ``proxy-0``."""
    state: str
    """``running``, ``paused`` or ``stopped``."""
    skew_ms: int
    """How far its clock is ahead of the cluster's."""
    addr: str

    @classmethod
    def of(cls, node: ProxyHandle) -> ProxyState:
        return cls(name=node.name, state=node.state, skew_ms=node.clock.skew_ms, addr=node.addr)


class ClusterState(msgspec.Struct, frozen=True, kw_only=True):
    cluster: str
    namesrv_addr: str
    """The name server address to configure in clients: ``host:port``, joined by ``;``."""
    name_servers: list[NameServerState]
    brokers: list[BrokerState]
    proxy: ProxyState | None
    """The front of gRPC clients; null for a cluster without one."""
    clock: ClockState
    seed: int
    faults: list[str]
    """The faults that are placed, as text."""
    journal_seq: int
    """The number of the journal's last entry."""
    journal_epoch: int
    """It grows with each reset of the journal, whose numbers then begin at 1 again."""


class Kill(RequestBody):
    lose_unsynced: bool = False
    """Lose the bytes that no flush has written, too."""


class Skew(RequestBody):
    by: Duration
    """How far the node's clock is ahead of the cluster's, or behind: ``"+5s"``, ``"-300ms"``, 0."""


class DiskSize(RequestBody):
    size: str | Long | None
    """The size of the disk of its store, as in ``"64MiB"``; null for the real size."""


class Promote(RequestBody):
    role: str = "ASYNC_MASTER"


class Demote(RequestBody):
    broker_id: Long
    """An id that no other broker of its brokerName has."""


class Restart(RequestBody):
    config: dict[str, str | Long | bool] = msgspec.field(default_factory=dict)
    """RocketMQ's configuration keys to change."""


@endpoint("GET", "/v1/state")
def get_state(control: Control) -> ClusterState:
    """Return the cluster's nodes, ports, clock, seed and faults."""
    core = control.core
    return ClusterState(
        cluster=core.spec.cluster_name,
        namesrv_addr=control.mq.namesrv_addr,
        name_servers=[*map(NameServerState.of, control.mq.name_servers)],
        brokers=[*map(BrokerState.of, core.brokers.values())],
        proxy=None if core.proxy is None else ProxyState.of(control.mq.proxy),
        clock=clock_state(control),
        seed=control.mq.seed_value,
        faults=[repr(fault) for fault in control.mq.faults.placed()],
        journal_seq=core.journal.last_seq,
        journal_epoch=core.journal.epoch,
    )


@endpoint("GET", "/v1/brokers")
def get_brokers(control: Control) -> list[BrokerState]:
    """Return every broker, in the order of their ports."""
    return [*map(BrokerState.of, control.core.brokers.values())]


@endpoint("GET", "/v1/brokers/{broker}")
def get_broker(control: Control, broker: str) -> BrokerState:
    """Return one broker; a bare brokerName means its master."""
    return BrokerState.of(control.core.broker(broker))


@endpoint("POST", "/v1/brokers/{broker}/kill")
async def kill_broker(control: Control, broker: str, body: Kill) -> BrokerState:
    """Kill a broker at once, as by kill -9."""
    handle = control.mq.broker(broker)
    async with control.changing:
        handle.kill(lose_unsynced=body.lose_unsynced)
    return BrokerState.of(control.core.broker(handle.name))


@endpoint("POST", "/v1/brokers/{broker}/stop")
async def stop_broker(control: Control, broker: str) -> BrokerState:
    """Stop a broker cleanly: it unregisters at every name server, then closes."""
    node = control.core.broker(broker)
    async with control.changing:
        await control.server.stop_broker(node)
    return BrokerState.of(node)


@endpoint("POST", "/v1/brokers/{broker}/restart")
async def restart_broker(control: Control, broker: str, body: Restart) -> BrokerState:
    """Start a broker again on the same ports, with the data that it had."""
    return await _restart(control, broker, body.config)


@endpoint("POST", "/v1/brokers/{broker}/promote")
async def promote_broker(control: Control, broker: str, body: Promote) -> BrokerState:
    """Restart a broker as the master of its brokerName; stop or demote the old master before."""
    return await _restart(control, broker, promoted(body.role))


@endpoint("POST", "/v1/brokers/{broker}/demote")
async def demote_broker(control: Control, broker: str, body: Demote) -> BrokerState:
    """Restart a broker as a slave of its brokerName."""
    return await _restart(control, broker, demoted(body.broker_id))


@endpoint("POST", "/v1/brokers/{broker}/disk_size")
def set_disk_size(control: Control, broker: str, body: DiskSize) -> BrokerState:
    """Set the size of the disk of a broker's store."""
    handle = control.mq.broker(broker)
    handle.set_disk_size(body.size)
    return BrokerState.of(control.core.broker(handle.name))


@endpoint("POST", "/v1/brokers/{broker}/pause")
def pause_broker(control: Control, broker: str) -> BrokerState:
    """Pause a broker, as by SIGSTOP: sockets stay open, it answers nothing, no timer fires."""
    handle = control.mq.broker(broker)
    handle.pause()
    return BrokerState.of(control.core.broker(handle.name))


@endpoint("POST", "/v1/brokers/{broker}/resume")
def resume_broker(control: Control, broker: str) -> BrokerState:
    """Resume a broker: it now handles what arrived and fell due during the pause."""
    handle = control.mq.broker(broker)
    handle.resume()
    return BrokerState.of(control.core.broker(handle.name))


@endpoint("POST", "/v1/brokers/{broker}/skew")
def skew_broker(control: Control, broker: str, body: Skew) -> BrokerState:
    """Set how far a broker's clock is ahead of the cluster's clock, or behind it."""
    handle = control.mq.broker(broker)
    handle.clock.skew(body.by)
    return BrokerState.of(control.core.broker(handle.name))


@endpoint("GET", "/v1/name-servers/{namesrv}")
def get_name_server(control: Control, namesrv: str) -> NameServerState:
    """Return one name server, by name or address."""
    return NameServerState.of(control.mq.name_server(namesrv))


@endpoint("POST", "/v1/name-servers/{namesrv}/kill")
async def kill_name_server(control: Control, namesrv: str) -> NameServerState:
    """Kill a name server at once, as by kill -9."""
    node = control.mq.name_server(namesrv)
    return await changed(control, node, node.kill, NameServerState.of)


@endpoint("POST", "/v1/name-servers/{namesrv}/stop")
async def stop_name_server(control: Control, namesrv: str) -> NameServerState:
    """Stop a name server; after a restart it knows no brokers, as after a kill."""
    node = control.mq.name_server(namesrv)
    return await changed(control, node, node.stop, NameServerState.of)


@endpoint("POST", "/v1/name-servers/{namesrv}/restart")
async def restart_name_server(control: Control, namesrv: str) -> NameServerState:
    """Start a name server again at the same address; it knows no brokers until they register."""
    node = control.mq.name_server(namesrv)
    return await changed(control, node, node.restart, NameServerState.of)


@endpoint("POST", "/v1/name-servers/{namesrv}/pause")
async def pause_name_server(control: Control, namesrv: str) -> NameServerState:
    """Pause a name server, as by SIGSTOP: sockets stay open, it answers nothing, no timer fires."""
    node = control.mq.name_server(namesrv)
    return await changed(control, node, node.pause, NameServerState.of)


@endpoint("POST", "/v1/name-servers/{namesrv}/resume")
async def resume_name_server(control: Control, namesrv: str) -> NameServerState:
    """Resume a name server: it now handles what arrived and fell due during the pause."""
    node = control.mq.name_server(namesrv)
    return await changed(control, node, node.resume, NameServerState.of)


@endpoint("POST", "/v1/name-servers/{namesrv}/skew")
def skew_name_server(control: Control, namesrv: str, body: Skew) -> NameServerState:
    """Set how far a name server's clock is ahead of the cluster's clock, or behind it."""
    handle = control.mq.name_server(namesrv)
    handle.clock.skew(body.by)
    return NameServerState.of(handle)


@endpoint("GET", "/v1/proxies/{proxy}")
def get_proxy(control: Control, proxy: str) -> ProxyState:
    """Return the front of gRPC clients; its name is ``proxy-0``."""
    return ProxyState.of(_proxy(control, proxy))


@endpoint("POST", "/v1/proxies/{proxy}/kill")
async def kill_proxy(control: Control, proxy: str) -> ProxyState:
    """Kill the front of gRPC clients at once, as by kill -9."""
    node = _proxy(control, proxy)
    return await changed(control, node, node.kill, ProxyState.of)


@endpoint("POST", "/v1/proxies/{proxy}/stop")
async def stop_proxy(control: Control, proxy: str) -> ProxyState:
    """Stop the front; messages whose time it prolongs become visible after a second."""
    node = _proxy(control, proxy)
    return await changed(control, node, node.stop, ProxyState.of)


@endpoint("POST", "/v1/proxies/{proxy}/restart")
async def restart_proxy(control: Control, proxy: str) -> ProxyState:
    """Start the front again at the same address; it knows no clients until they connect again."""
    node = _proxy(control, proxy)
    return await changed(control, node, node.restart, ProxyState.of)


@endpoint("POST", "/v1/proxies/{proxy}/pause")
async def pause_proxy(control: Control, proxy: str) -> ProxyState:
    """Pause the front, as by SIGSTOP: sockets stay open, it answers nothing, no timer fires."""
    node = _proxy(control, proxy)
    return await changed(control, node, node.pause, ProxyState.of)


@endpoint("POST", "/v1/proxies/{proxy}/resume")
async def resume_proxy(control: Control, proxy: str) -> ProxyState:
    """Resume the front: it now handles what arrived and fell due during the pause."""
    node = _proxy(control, proxy)
    return await changed(control, node, node.resume, ProxyState.of)


@endpoint("POST", "/v1/proxies/{proxy}/skew")
def skew_proxy(control: Control, proxy: str, body: Skew) -> ProxyState:
    """Set how far the front's clock is ahead of the cluster's clock, or behind it."""
    handle = _proxy(control, proxy)
    handle.clock.skew(body.by)
    return ProxyState.of(handle)


async def _restart(control: Control, broker: str, config: ConfigSource) -> BrokerState:
    node = control.core.broker(broker)
    async with control.changing:
        await control.server.restart_broker(node, config)
    return BrokerState.of(node)


async def changed(
    control: Control, node: Node, change: Callable[[], None], state: Callable[[Node], State]
) -> State:
    """Change a node, while no other request changes one; return its state."""
    async with control.changing:
        change()
    return state(node)


def _proxy(control: Control, name: str) -> ProxyHandle:
    handle = control.mq.proxy
    if name != handle.name:
        raise Refusal(404, f"no proxy {name!r}; there are: {handle.name}")
    return handle
