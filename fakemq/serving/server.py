"""A cluster behind real sockets, on the running asyncio loop."""

# Over 400 lines: the life of each kind of node is one with that of its ports.

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from fakemq.broker.broker import Broker
from fakemq.clock.slices import Work
from fakemq.core.cluster import ClusterCore
from fakemq.core.views import NODE
from fakemq.errors import NO_MEMORY, FakemqError
from fakemq.events.core import failure
from fakemq.faults.points import REQUEST_POINTS
from fakemq.namesrv.namesrv import NameServer
from fakemq.net.held import HeldBytes
from fakemq.net.memory import OpenLinks
from fakemq.net.tcp import TcpLink
from fakemq.serving.driver import Driver
from fakemq.serving.listener import (
    DEFAULTS,
    Acceptor,
    BrokerPorts,
    LinkType,
    Listener,
    Port,
    SocketOptions,
    TcpConnector,
)
from fakemq.serving.tls import ClusterTls, hosts_of

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.config.files import ConfigSource
    from fakemq.config.spec import ClusterSpec
    from fakemq.controller.controller import Controller
    from fakemq.core.snapshots import Snapshot
    from fakemq.journal.file import JournalFile
    from fakemq.net.link import Accept
    from fakemq.proxy.proxy import Proxy
    from fakemq.serving.exported import ExportedNode

T = TypeVar("T")

STOP_TIMEOUT_S = 3.5
"""How long a broker waits for name servers, in real seconds; a little longer than in Java."""


class Service(Protocol):
    """A service beside the nodes on a server's loop, such as the control port."""

    async def close(self) -> None:
        """Answer open requests and close everything. Called while all nodes still run."""


class ClusterServer:
    """Ports, sockets and clock of one running cluster, all on one loop; only I/O waits."""

    def __init__(self, spec: ClusterSpec) -> None:
        self.spec = spec
        self._ports: list[Port | BrokerPorts] = []
        self._held = HeldBytes()
        self._links = OpenLinks()
        protocols = () if spec.grpc_port is None else ("h2",)
        self.tls = ClusterTls(spec.tls, hosts_of(spec), self._warn_of_tls, protocols)
        self._tcp = TcpConnector(self._held, self._links, self.tls.connect, self._warn_of_tls)
        try:
            self._namesrv_ports = [
                self._port(port, f"name server {number}", "namesrv_port")
                for number, port in enumerate(spec.namesrv_ports)
            ]
            self._controller_ports = [
                self._port(one.port, one.name, "controllers") for one in spec.controllers
            ]
            self._broker_ports = [
                self._broker_port(config.listen_port, config.node_name)
                for config in spec.broker_configs
            ]
            self._grpc_port = (
                None if spec.grpc_port is None else self._port(spec.grpc_port, "gRPC port", "grpc")
            )
            self._door_port = (
                None
                if spec.proxy_remoting is None
                else self._port(spec.proxy_remoting, "proxy's remoting port", "proxy_remoting")
            )
            self.core = ClusterCore(
                spec,
                [f"{spec.advertised_host}:{port.port}" for port in self._namesrv_ports],
                [ports.main.port for ports in self._broker_ports],
                open_tcp=self._tcp.open,
                links=self._links,
                grpc_port=None if self._grpc_port is None else self._grpc_port.port,
                door_port=None if self._door_port is None else self._door_port.port,
                controller_addrs=[
                    f"{one.host}:{port.port}"
                    for one, port in zip(spec.controllers, self._controller_ports, strict=True)
                ],
            )
            self.exporters: dict[str, ExportedNode] = {}
            """The nodes whose metrics can be read, by name."""
            if spec.exports_metrics:
                from fakemq.serving.exported import exported  # few clusters export metrics

                self.exporters = exported(self.core, spec, self._ports)
        except BaseException:
            self._close_ports()
            raise
        self._driver: Driver | None = None
        self._journal_file: JournalFile | None = None
        self._listeners: dict[str, list[Acceptor]] = {}
        self._services: list[Service] = []

    def _port(self, number: int, use: str, option: str) -> Port:
        port = Port(self.spec.listen, number, use, option)
        self._ports.append(port)
        return port

    def _broker_port(self, number: int, node: str) -> BrokerPorts:
        ports = BrokerPorts(self.spec.listen, number, node)
        self._ports.append(ports)
        return ports

    def listen_beside(self, node: str, acceptor: Acceptor) -> None:
        """Open a further port of a running node, which closes and opens with its others."""
        self._listeners[node].append(acceptor)
        acceptor.open()

    async def start(self) -> None:
        """Start all nodes, then listen: a client that can connect finds all nodes registered."""
        try:
            self._start()
        except BaseException:
            await self.stop()
            raise

    def _start(self) -> None:
        asyncio.get_running_loop().set_exception_handler(self._failed)
        self.tls.prepare()
        if self.spec.journal_path is not None:
            from fakemq.journal.file import JournalFile  # few clusters have one

            self._journal_file = JournalFile(self.spec.journal_path)
            self.core.journal.listen(self._journal_file)
        self._driver = Driver(self.core.clock, self.core.network)
        self.core.wakes.soon = asyncio.get_running_loop().call_soon
        self.core.start()
        door = None if self.tls.mode == "disabled" else self.tls
        for name_server, port in zip(self.core.name_servers, self._namesrv_ports, strict=True):
            name = name_server.name
            # That of the spec, with which it begins again: a peer may change the present one.
            config = self.spec.namesrv_config
            self._listeners[name] = [self._listener(name, port, name_server.accept, door, config)]
        controllers = self.core.controllers_called(None)
        for controller, port in zip(controllers, self._controller_ports, strict=True):
            name, options = controller.name, cast("SocketOptions", controller.config)
            self._listeners[name] = [self._listener(name, port, controller.accept, door, options)]
        for broker, ports in zip(self.core.brokers.values(), self._broker_ports, strict=True):
            self._listeners[broker.name] = [
                self._listener(broker.name, ports.main, broker.accept, door, broker.config),
                self._listener(broker.name, ports.vip, broker.accept_fast, door, broker.config),
                self._listener(broker.name, ports.ha, broker.accept_ha),
            ]
        proxy = self.core.proxy
        if proxy is not None and self._grpc_port is not None:
            self._listeners[proxy.name] = [self._grpc_listener(proxy, self._grpc_port, door)]
            if self.core.door is not None and self._door_port is not None:
                remoting = self._listener(proxy.name, self._door_port, self.core.door.accept, door)
                self._listeners[proxy.name].append(remoting)
        for name in self._listeners:
            self._listen(name)

    def _listener(
        self,
        name: str,
        port: Port,
        accept: Accept,
        door: ClusterTls | None = None,
        options: SocketOptions = DEFAULTS,
        link_type: LinkType = TcpLink,
    ) -> Listener:
        refused = partial(self.core.journal.peer_warnings.warn, name, "no descriptors")
        return Listener(port, accept, self._held, refused, self._links, door, options, link_type)

    def _grpc_listener(self, proxy: Proxy, port: Port, door: ClusterTls | None) -> Listener:
        from fakemq.net.headed_link import HeadedLink  # most clusters have no gRPC port
        from fakemq.protocol.networks import networks

        trusted = networks(self.spec.proxy_protocol_from)
        link_type = partial(HeadedLink, trusted=trusted)
        return self._listener(proxy.name, port, proxy.accept, door, link_type=link_type)

    @property
    def grpc_addr(self) -> str:
        """``host:port`` for gRPC clients; "" without such a port."""
        if self._grpc_port is None:
            return ""
        return f"{self.spec.advertised_host}:{self._grpc_port.port}"

    @property
    def proxy_remoting_addr(self) -> str:
        """``host:port`` for clients that speak remoting to the proxy; "" without such a port."""
        return "" if self.core.door is None else self.core.door.addr

    def _warn_of_tls(self, text: str) -> None:
        self.core.journal.peer_warnings.warn(NODE, "TLS files", text)

    async def registered(self) -> None:
        """Wait until outside name servers have answered every broker, or the time is over."""
        for broker in self.core.brokers.values():
            done = asyncio.Event()
            broker.registration.first_round.when_done(done.set)
            await done.wait()

    def attach(self, service: Service) -> None:
        """Close ``service`` when the server stops, before everything else."""
        self._services.append(service)

    async def carry_out(self, steps: Steps[T]) -> T:
        """Do long work in slices, and return its result; a cancelled caller ends it.

        Raise FakemqError if the cluster is stopped, reset or restored meanwhile.
        """
        return await self.done(Work(steps, peer=object()))

    async def done(self, work: Work[T]) -> T:
        """As `carry_out`, for work that `give_up` may end."""
        done, slices = asyncio.Event(), self.core.clock.slices
        slices.begin(work)
        if not work.done:
            work.outcome.when_done(done.set)
            try:
                await done.wait()
            finally:
                slices.drop([work])
        if work.dropped:
            raise FakemqError("the cluster was reset or restored meanwhile: ask again")
        return work.outcome.result()

    def give_up(self, work: Work[Any]) -> None:
        """End work whose caller waits no more, begun or not; do nothing if it is done."""
        if not work.done:
            self.core.clock.slices.drop([work])
            work.settle()

    async def stop(self) -> None:
        """Stop cleanly: brokers unregister, then every socket and port is closed."""
        for service in self._services:
            await service.close()
        faults = self._links.faults
        if faults is not None:
            faults.end()
        self.core.faults.remove_at(REQUEST_POINTS)  # else name servers may not answer below
        self.core.close_guests()  # while brokers still answer them
        # All at once: a name server elsewhere that does not answer costs 3 s, not 3 s a broker.
        self.stop_proxy()
        await asyncio.gather(*map(self.stop_broker, self.core.brokers.values()))
        for name in self._listeners:
            self._close_listeners(name)
        self.core.stop()
        await self._tcp.close()
        if self._driver is not None:
            self._driver.close()
        if self._journal_file is not None:
            self._journal_file.close()
        self._close_ports()
        for listeners in self._listeners.values():
            for listener in listeners:
                await listener.settled()
        self._held.drop_all()
        self.tls.close()
        self.core.free()
        for _ in range(2):  # transports close on the loop's next turn, dropped ones one later
            await asyncio.sleep(0)

    async def stop_broker(self, broker: Broker) -> None:
        """Unregister everywhere, wait for the name servers' answers, then close."""
        self._close_listeners(broker.name)
        stopped = asyncio.Event()
        broker.stop(stopped.set)
        self.core.network.settle()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await stopped.wait()
        except TimeoutError:  # behind a partition, with a frozen clock
            broker.outbound.close("no name server answers")
            await stopped.wait()

    def kill_broker(self, broker: Broker, lose_unsynced: bool = False) -> None:
        """Close the broker at once; its port stays reserved and refuses connections."""
        self._close_listeners(broker.name)
        broker.kill(lose_unsynced=lose_unsynced)
        self.core.network.settle()

    def kill_node(self, node: Broker | NameServer | Controller) -> None:
        """Kill a node, by `kill_broker`, `stop_name_server` or `stop_controller`."""
        if isinstance(node, Broker):
            self.kill_broker(node)
        elif isinstance(node, NameServer):
            self.stop_name_server(node, "kill")
        else:
            self.stop_controller(node, "kill")

    def stop_name_server(self, name_server: NameServer, how: str = "stop") -> None:
        """Close the name server at once, without its tables; its port refuses connections."""
        self._close_listeners(name_server.name)
        name_server.stop(how)
        self.core.network.settle()

    def restart_name_server(self, name_server: NameServer) -> None:
        """Start a name server that is down, or stop and start a running one; same port."""
        self.stop_name_server(name_server)
        self.core.start_name_server(name_server)
        self._listen(name_server.name)

    def stop_controller(self, controller: Controller, how: str = "stop") -> None:
        """Close the controller at once; its port refuses connections. The group keeps the log."""
        self._close_listeners(controller.name)
        controller.stop(how)
        self.core.network.settle()

    def restart_controller(self, controller: Controller) -> None:
        """Start a controller that is down, or stop and start a running one; same port."""
        self.stop_controller(controller)
        self.core.start_controller(controller)
        self._listen(controller.name)

    def stop_proxy(self, how: str = "stop") -> None:
        """Stop the gRPC front if there is one; its port stays reserved and refuses connections."""
        proxy = self.core.proxy
        if proxy is not None:
            self._close_listeners(proxy.name)
            proxy.stop(how)
            self.core.network.settle()

    def restart_proxy(self) -> None:
        """Start a gRPC front that is down, or stop and start a running one; same port."""
        proxy = self.core.proxy
        if proxy is not None:
            self.stop_proxy()
            self.core.start_proxy()
            self._listen(proxy.name)

    async def restart_broker(self, broker: Broker, config: ConfigSource = {}) -> None:  # noqa: B006
        """Start a broker that is down, or stop and start a running one; same ports.

        ``config`` has the keys to change; raise ConfigError if they cannot be changed so.
        """
        changed = None
        if config:
            from fakemq.core.changes import reconfigured  # few tests do this

            changed = reconfigured(broker.config, config)
        await self.stop_broker(broker)
        if changed is not None:
            broker.config.restore(changed)
        self.start_broker(broker)

    def start_broker(self, broker: Broker) -> None:
        """Start a broker that is down; same ports."""
        self.core.start_broker(broker)
        self.core.network.settle()
        self._listen(broker.name)

    async def reset(self, test: str = "") -> None:
        """Reset to the start state, without faults; nodes that are down or paused run again.

        ``test`` is the name of the test that begins, "" for none.
        """
        self.core.faults.reset()
        await self._run_all()
        self.core.reset(test)

    async def restore(self, snapshot: Snapshot) -> None:
        """Load a snapshot; brokers that are down or paused run again."""
        snapshot.require_fit(self.core.brokers, self.core.controllers)
        await self._run_all()
        self.core.restore(snapshot)

    async def _run_all(self) -> None:
        """Start the nodes that are down."""
        for name_server in self.core.name_servers:
            if not name_server.running:
                self.restart_name_server(name_server)
        for controller in self.core.controllers_called(None):
            if not controller.running:
                self.restart_controller(controller)
        for broker in self.core.brokers.values():
            if not broker.running:
                await self.restart_broker(broker)
        if self.core.proxy is not None and not self.core.proxy.running:
            self.restart_proxy()

    def _listen(self, name: str) -> None:
        for listener in self._listeners[name]:
            listener.open()

    def _close_listeners(self, name: str) -> None:
        for listener in self._listeners.get(name, ()):  # there are none after a failed start
            listener.close()

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report an error that escaped from a timer, a link or a task, as a bug of fakemq."""
        error = context.get("exception")
        if not isinstance(error, Exception):
            loop.default_exception_handler(context)
            return
        if isinstance(error, MemoryError):  # of a connection that is being made, for example
            self.core.journal.peer_warnings.warn(NODE, "no memory", NO_MEMORY)
        else:
            self.core.journal.add(failure(NODE, None, error))

    def _close_ports(self) -> None:
        for port in self._ports:
            port.close()
        self._ports.clear()
