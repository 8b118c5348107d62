"""A whole cluster without sockets, threads or a loop: name servers, brokers, clock, journal.

Everything here is synchronous and deterministic. The owner of a core moves its clock and settles
its network: `ClusterServer` does so from a loop, the simulator from a seed.
"""

# Over 400 lines: starting, resetting and restoring the nodes share state with moving their time.

from __future__ import annotations

import os
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from fakemq.broker import addresses
from fakemq.broker.broker import Broker, broker_class
from fakemq.broker.tables import persistence
from fakemq.clock.clock import Clock
from fakemq.clock.durations import wall_ms
from fakemq.clock.node_clock import NodeClock
from fakemq.core.movement import Movement
from fakemq.core.views import NODE
from fakemq.dispatch.node import NodeContext, NodeState
from fakemq.errors import FakemqError
from fakemq.events.core import (
    ClockMoved,
    HandlerFailed,
    RoutineSkipped,
    SnapshotRestored,
    StoreRepaired,
    Warned,
)
from fakemq.faults.plan import ActiveFault, FaultPlan
from fakemq.files.texts import DiskTextFile
from fakemq.journal.journal import Journal, log
from fakemq.journal.wakes import Wakes
from fakemq.namesrv.namesrv import NameServer, name_server_class
from fakemq.net.memory import MemoryNetwork, OpenLinks
from fakemq.net.outbound import OpenTcp, Outbound
from fakemq.randomness import Randomness
from fakemq.store.memory_files import MemoryFiles
from fakemq.store.store import MessageStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fakemq.broker.acl.access import AccessControl
    from fakemq.broker.acl.homes import AclHome
    from fakemq.broker.image import NodeImage
    from fakemq.broker.v5.broker import Broker5
    from fakemq.clock.clock import SavedClock
    from fakemq.config.checked import TopicSpec
    from fakemq.config.model import BrokerConfig
    from fakemq.config.spec import ClusterSpec
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.controller.controller import Controller
    from fakemq.controller.making import Controllers
    from fakemq.core.guests import Guests
    from fakemq.core.snapshots import Snapshot
    from fakemq.core.views import Deadline
    from fakemq.proxy.door import RemotingDoor
    from fakemq.proxy.proxy import Proxy

T = TypeVar("T")


def rank(broker: Broker) -> tuple[bool, bool, int]:
    """Return the place of a broker among those of its brokerName: the least one has the group's
    data. A running one comes first, then a master, then the later of two under a controller."""
    return not broker.running, broker.role.is_slave, -broker.role.epoch


class Abandonable(Protocol):
    """A call that its caller may abandon, from any thread."""

    given_up: bool


class ClusterCore:
    """The nodes of one cluster, at addresses that do not change.

    ``namesrv_addrs`` has one address for each name server; ``broker_ports`` has one main port for
    each broker of ``spec``. The configs in ``spec`` are not modified.

    A broker without name servers in this cluster registers at the addresses of its ``namesrvAddr``.
    """

    def __init__(
        self,
        spec: ClusterSpec,
        namesrv_addrs: list[str],
        broker_ports: list[int],
        *,
        open_tcp: OpenTcp | None = None,
        links: OpenLinks | None = None,
        grpc_port: int | None = None,
        door_port: int | None = None,
        controller_addrs: Sequence[str] = (),
    ) -> None:
        self.spec = spec
        self.clock = Clock(frozen=spec.clock == "frozen", start_at_ms=spec.start_at_ms)
        self.journal = Journal(self.clock)
        self.wakes = Wakes(self.journal)
        self.stop_logging = self.journal.listen(log, Warned, HandlerFailed, StoreRepaired)
        self.on_moved: Callable[[str], None] = lambda how: None
        """Called with the ``how`` of `ClockMoved` after the clock was moved or changed."""
        self.network = MemoryNetwork(self.journal, links=links)
        self.network.is_given_up = self._is_given_up
        self.clock.settle = self.network.settle
        self.clock.why_ended = self.why_ended
        self.clock.on_skip = self._skipped
        self._ending = False
        """Set from any thread before the stop; no time is moved after that."""
        self._wait: Abandonable | None = None
        """The call that is moving time now, if its caller can abandon it."""
        self.randomness = Randomness(spec.seed)
        self.faults = FaultPlan(self.journal, self.randomness)
        self.clock.may_skip = self._may_skip
        self.namesrv_addrs = namesrv_addrs
        self.open_tcp = open_tcp
        """Connects to addresses outside the cluster; None if it is without sockets."""
        self._guests: Guests | None = None
        self.name_servers = [self._make_name_server(n) for n in range(len(namesrv_addrs))]
        self.controllers: Controllers | None = None
        """The controllers; None without any."""
        self.controller_addrs = controller_addrs
        if spec.controllers:
            self.controllers = self._make_controllers()
        self.brokers: dict[str, Broker] = {}
        self._beginning: dict[str, NodeImage] = {}
        """The data of ``store_from`` by node name; loaded at the start and at each reset."""
        if spec.store_from is not None:
            from fakemq.core.snapshots import images_in  # few clusters begin with something

            self._beginning = images_in(spec.store_from, spec.broker_configs)
        for config, port in zip(spec.broker_configs, broker_ports, strict=True):
            broker = self._make_broker(config, port)
            self.brokers[broker.name] = broker
        self.proxy: Proxy | None = None
        """The gRPC front; None without one."""
        self.door: RemotingDoor | None = None
        """The port of the front for remoting; None without one."""
        self.proxy_addr = f"{spec.advertised_host}:{grpc_port}"
        if grpc_port is not None:
            self.proxy = self._make_proxy()
            if door_port is not None:
                self.door = self._make_door(self.proxy, f"{spec.advertised_host}:{door_port}")

    def _make_name_server(self, number: int) -> NameServer:
        name = f"namesrv-{number}"
        config = self.spec.namesrv_config.copy()
        config.listen_port = int(self.namesrv_addrs[number].rpartition(":")[2])
        kv_file = DiskTextFile(config.kv_config_path) if config.kv_config_path else None
        clock = NodeClock(self.clock, name, self.journal)
        name_server = name_server_class(self.spec.reference)(
            name,
            config,
            clock,
            self.journal,
            kv_file=kv_file,
            faults=self.faults,
            reference=self.spec.reference,
        )
        name_server.make_outbound = lambda: Outbound(name_server, self.network, self.open_tcp)
        return name_server

    def _make_controllers(self) -> Controllers:
        from fakemq.controller.making import make_controllers  # most clusters have none

        return make_controllers(
            self.spec.controllers,
            self.controller_addrs,
            self.clock,
            self.journal,
            self.faults,
            self.randomness,
            self.spec.reference,
            self.network,
            self.open_tcp,
        )

    def _make_broker(self, spec: BrokerConfig, port: int) -> Broker:
        config = spec.copy()
        config.listen_port, config.ha_listen_port = port, port + 1
        if self.namesrv_addrs:
            config.namesrv_addr = ";".join(self.namesrv_addrs)
        if self.controller_addrs:
            config.controller_addr = ";".join(self.controller_addrs)
        name = config.node_name
        clock = NodeClock(self.clock, name, self.journal)
        store = self._make_store(config, clock)
        node = NodeContext(
            name,
            config,
            clock,
            self.journal,
            self.faults,
            self.randomness.stream(f"broker {name}"),
            self.spec.reference,
        )
        broker = broker_class(self.spec.reference)(node, store)
        if not self.spec.reference.reads_acl_enable:
            guarded = cast("Broker5", broker)
            guarded.users_home = partial(self._users_home, config, config.rocketmq_home)
            guarded.has_rules = self.spec.acl is not None
        broker.outbound = Outbound(broker, self.network, self.open_tcp, config=config)
        # The home of the start: a peer may change rocketmqHome, and must not choose files.
        broker.make_acl = partial(self._make_acl, broker, config.rocketmq_home)
        for addr, accept in (
            (broker.addr, broker.accept),
            (broker.vip_addr, broker.accept_fast),
            (broker.ha_addr, broker.accept_ha),
        ):
            self.network.listen(addr, accept, name, lambda: broker.running)
        folder = config.store_path_root_dir
        if folder is not None:
            broker.persistence.keep_in(
                lambda name: DiskTextFile(
                    os.path.join(folder, persistence.FOLDER, name),
                    0o600 if name == persistence.AUTH else 0o644,  # it has passwords
                )
            )
        return broker

    def _make_acl(self, broker: Broker, home: str | None) -> AccessControl:
        from fakemq.broker.acl.access import AccessControl  # most clusters have none
        from fakemq.broker.acl.homes import home_of
        from fakemq.broker.acl.stored import rights_at

        return AccessControl(
            broker.node, home_of(self.spec.acl, home), rights_at(broker), strict=self.spec.strict
        )

    def _users_home(self, config: BrokerConfig, rocketmq_home: str | None) -> AclHome | None:
        migrates = cast("BrokerConfig5", config).migrate_auth_from_v1_enabled
        if self.spec.acl is None and not migrates:
            return None
        from fakemq.broker.acl.homes import home_of  # most clusters have no users

        return home_of(self.spec.acl, rocketmq_home, "migrateAuthFromV1Enabled")

    def _make_proxy(self) -> Proxy:
        from fakemq.proxy.front import make_front  # most clusters have none
        from fakemq.proxy.proxy import NAME

        return make_front(
            NodeClock(self.clock, NAME, self.journal),
            self.journal,
            self.faults,
            self.randomness.stream(f"proxy {NAME}"),
            self.spec.reference,
            name_servers=lambda: self.name_servers,
            brokers=self.brokers.values,
        )

    def _make_door(self, proxy: Proxy, addr: str) -> RemotingDoor:
        from fakemq.config.v5.model import BrokerConfig5
        from fakemq.proxy.door import RemotingDoor  # few fronts have one

        return RemotingDoor(proxy, addr, BrokerConfig5(), self.randomness.stream("proxy door"))

    def _make_store(self, config: BrokerConfig, clock: NodeClock) -> MessageStore:
        journal, name, ram_size_bytes = self.journal, config.node_name, self.spec.ram_size_bytes
        root = config.store_path_root_dir
        store_class = self._store_class(config)
        if root is None:
            memory = MemoryFiles(clock, self.spec.memory_limit_bytes)
            return store_class(config, memory, clock, journal, name, ram_size_bytes)
        # What most clusters do without.
        from fakemq.config.log_folders import log_paths
        from fakemq.store.descriptors import raise_descriptor_limit
        from fakemq.store.directory_files import DirectoryFiles
        from fakemq.store.disk import Disk

        raise_descriptor_limit()  # every mapped file holds one
        files = DirectoryFiles(root, clock, log_paths(config))
        store = store_class(config, files, clock, journal, name, ram_size_bytes)
        randomness = self.randomness.stream(f"crashes of {name}")
        Disk(store, files, clock, journal, name, self.network.post_later, randomness, self.faults)
        store.keep_in(root)
        return store

    @staticmethod
    def _store_class(config: BrokerConfig) -> type[MessageStore]:
        if not config.has_controller:
            if not config.has_acting_master:
                return MessageStore
            from fakemq.ha.v5.counted_store import CountedStore  # few brokers act as masters

            return CountedStore
        from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore  # few brokers have one

        return ConfirmedStore

    def start(self) -> None:
        """Start every node; on return all brokers are registered and all topics exist."""
        for name_server, addr in zip(self.name_servers, self.namesrv_addrs, strict=True):
            name_server.start(addr)
            is_up = partial(getattr, name_server, "running")
            self.network.listen(addr, name_server.accept, name_server.name, is_up)
        if self.controllers is not None:
            for controller, addr in zip(self.controllers.nodes, self.controller_addrs, strict=True):
                is_up = partial(getattr, controller, "running")
                self.network.listen(addr, controller.accept, controller.name, is_up)
            self.controllers.start(self.controller_addrs)
        for broker in self.brokers.values():
            self.start_broker(broker)
            if self.controllers is not None or broker.config.has_acting_master:
                self.network.settle()  # it has its id, or is known, before the next one asks
        self._begin_with_copy()
        if self.spec.topics:
            self._create_topics()
        if self.spec.topics or self._beginning:
            for broker in self.running_masters():
                broker.register_all()
        self._let_slaves_catch_up()
        self.start_proxy()

    def start_proxy(self) -> None:
        """Start the gRPC front, if there is one."""
        if self.proxy is not None:
            addr, is_up = self.proxy_addr, partial(getattr, self.proxy, "running")
            self.proxy.start(addr)
            self.network.listen(addr, self.proxy.accept, self.proxy.name, is_up)
            if self.door is not None:
                self.network.listen(self.door.addr, self.door.accept, self.proxy.name, is_up)

    def _let_slaves_catch_up(self) -> None:
        """Let the slaves replicate at once, instead of some time after the start."""
        self.network.settle()
        for broker in self.brokers.values():
            if broker.ha is not None and broker.running:
                broker.ha.sync_now()
                if self.controllers is not None:
                    self.network.settle()  # one change of the set at a time
        self.network.settle()

    def start_broker(self, broker: Broker) -> None:
        """Start a broker; it registers at the name servers of its config: those of this cluster."""
        broker.start(addresses.namesrv_addrs(broker.config))

    def stop(self) -> None:
        """Stop every node cleanly: guests leave, brokers unregister, then name servers stop."""
        self.close_guests()
        if self.proxy is not None:
            self.proxy.stop()
        for broker in self.brokers.values():
            if broker.running:
                broker.stop()
        self.network.settle()
        if self.controllers is not None:
            self.controllers.stop()
        for name_server in self.name_servers:
            name_server.stop()
        self.network.settle()

    def free(self) -> None:
        """Give the memory of its stores back; a stopped cluster ends with this.

        Parts of a cluster know each other, so without this call they would keep a GiB of addresses
        for each broker until the next garbage collection.
        """
        for broker in self.brokers.values():
            if isinstance(broker.store.files, MemoryFiles):
                broker.store.files.clear()

    @property
    def guests(self) -> Guests:
        """The clients that live in the cluster."""
        if self._guests is None:
            from fakemq.core.guests import Guests  # many clusters have none

            self._guests = Guests(self.journal, self.network)
        return self._guests

    def close_guests(self) -> None:
        """Close the clients that live in the cluster, if there are any."""
        if self._guests is not None:
            self._guests.close_all()

    def reset(self, test: str = "") -> None:
        """Reset to the start state; guests end, listeners and live connections stay.

        ``test`` is the name of the test that begins, "" for none.
        """
        if self._guests is not None:
            self._guests.reset()
        self.clock.reset(frozen=self.spec.clock == "frozen")
        for clock in self.node_clocks:
            clock.skew_ms = 0
        if self.proxy is not None:
            self.proxy.resume()
        nodes: list[Broker | NameServer | Controller]
        nodes = [*self.brokers.values(), *self.name_servers, *self._controllers]
        for node in nodes:
            node.resume()
        for timer in sorted(self.clock.timers(), key=attrgetter("place")):
            late = timer.take() if timer.kind == "late_by_fault" else None
            if late is not None:
                late()  # or it would come into what begins now
        self._end_work()
        if self.proxy is not None:
            self.proxy.reset()
        for node in nodes:
            node.reset()
        if self.controllers is not None:
            self.controllers.group.reset()
            from fakemq.core.replicas import begin_again  # few have controllers

            begin_again(self.brokers.values(), self.controllers, self.network.settle)
        self._begin_with_copy()
        self.randomness.reset()
        self.journal.clear()
        self._create_topics()
        for broker in self.brokers.values():
            broker.register_all()
        self._let_slaves_catch_up()
        self.journal.clear(test)
        self._changed("reset")

    def _begin_with_copy(self) -> None:
        """Load the data of the spec's ``store_from`` into the brokers."""
        for name, image in self._beginning.items():
            self.brokers[name].restore(image)

    def restore(self, snapshot: Snapshot) -> None:
        """Load a snapshot into the nodes; every broker must run. The clock is not changed.

        Raise ConfigError for a fault that keeps replicas from their controllers.
        """
        snapshot.require_fit(self.brokers, self.controllers)
        if self.proxy is not None:
            self.proxy.resume()
        for controller in self._controllers:
            controller.resume()
        for broker in self.brokers.values():
            broker.resume()
        if self.controllers is not None:
            from fakemq.core.replica_images import require_reach  # few have controllers

            require_reach(self.brokers, self.controllers, self.faults)
        self._end_work()
        if self.proxy is not None:
            self.proxy.reset()
        settle = self.network.settle
        snapshot.put_into(self.brokers, self.name_servers, self.controllers, settle)
        for broker in self.brokers.values():
            broker.register_all()
        self._let_slaves_catch_up()
        self.journal.add(SnapshotRestored(node=NODE))

    def _end_work(self) -> None:
        """End all long work, because the stores that it reads are about to go."""
        for clock in self.node_clocks:
            clock.end_all()
        self.clock.slices.drop_all()

    # -- time ---------------------------------------------------------------------------------

    def freeze(self, frozen: bool) -> None:
        """Freeze the clock, or let it run."""
        if frozen:
            self.clock.freeze()
        else:
            self.clock.unfreeze()
        self._changed("freeze" if frozen else "unfreeze")

    def set_rate(self, rate: float) -> None:
        """Let the clock run ``rate`` times as fast as real time while it is not frozen."""
        self.clock.rate = rate
        self._changed("rate", f"rate {rate:g}")

    def jump_to(self, at_ms: int) -> None:
        """Set another wall time, earlier or later; no time passes and no timer fires.

        Timers that are due by the new time fire with the next movement, or by themselves if the
        clock runs.
        """
        self._jump(lambda: self.clock.jump_to(at_ms))

    def restore_clock(self, state: SavedClock) -> None:
        """Restore a state of the clock; this is a jump if its wall time changes."""
        self._jump(lambda: self.clock.restore(state))

    def _jump(self, jump: Callable[[], None]) -> None:
        before_ms = self.clock.now_ms()
        jump()
        self.moved("jump", self.clock.now_ms() - before_ms)
        for clock in self.node_clocks:
            clock.jumped()
        self.on_moved("jump")

    def settle(self) -> None:
        """Do all that is left to do at the present time: deliveries, and timers that are due.

        Raise FakemqError within a function that a guest calls.
        """
        if why := self.why_ended():
            raise FakemqError(why)
        self.network.settle()
        self.clock.advance_ms(0)  # it raises the error, too, if the caller has given up meanwhile
        self.network.settle()

    def advance(self, ms: int, *, outside_peers: bool = False) -> list[Deadline]:
        """Move time forward by ``ms``; everything in the cluster is quiet before and after.

        Raise ValueError for a negative time. Raise ConfigError for more than `LONGEST_ADVANCE_MS`,
        or for a time after the year 9998. Raise FakemqError if the call was given up; time keeps
        the value reached then.
        """
        return self.movement(ms, outside_peers=outside_peers).at_once()

    def movement(self, ms: int, *, outside_peers: bool = False) -> Movement:
        """Begin the movement of `advance`."""
        return Movement(self, ms, outside_peers)

    def check_wall(self, ms: int) -> None:
        """Raise ConfigError if a movement by ``ms`` leads beyond the years that are known."""
        ahead_ms = max([0, *[clock.skew_ms for clock in self.node_clocks]])
        wall_ms(self.clock.now_ms() + ahead_ms + ms, name="the wall time afterwards, in ms")

    def until_given_up(self, wait: Abandonable, move: Callable[[], T]) -> T:
        """Call ``move``, which moves time; end it with FakemqError once ``wait`` is given up."""
        self._wait = wait
        try:
            return move()
        finally:
            self._wait = None

    def end_moves(self) -> None:
        """End the present movement of time and refuse others, because the cluster is about to stop.

        May be called from any thread.
        """
        self._ending = True

    def _is_given_up(self) -> bool:
        """Return whether the call that moves time now is to end."""
        wait = self._wait
        return wait is not None and (wait.given_up or self._ending)

    def why_ended(self) -> str:
        """Return why time may not be moved any more; "" if it may."""
        if self._ending:
            return "the cluster is being stopped"
        if self._guests is not None and self._guests.is_calling:
            return "a client inside the cluster calls a function of its user"
        given_up = self._wait is not None and self._wait.given_up
        return "the caller that moved the clock has given up" if given_up else ""

    def advance_to(self, at_ms: int, *, outside_peers: bool = False) -> list[Deadline]:
        """Advance to a wall time; raise ValueError for a time in the past."""
        return self.movement_to(at_ms, outside_peers=outside_peers).at_once()

    def movement_to(self, at_ms: int, *, outside_peers: bool = False) -> Movement:
        """Begin the movement of `advance_to`."""
        return Movement(self, at_ms - self.clock.now_ms(), outside_peers)

    def advance_to_next(self, kind: str, *, outside_peers: bool = False) -> list[Deadline]:
        """Advance to the next deadline of ``kind``; raise LookupError if none is pending.

        What it begins is over then: a check of transactions that sleeps is advanced to its end.
        """
        return self.movement_to_next(kind, outside_peers=outside_peers).at_once()

    def movement_to_next(self, kind: str, *, outside_peers: bool = False) -> Movement:
        """Begin the movement of `advance_to_next`."""
        timer = self.clock.next_of(kind, outside_peers=outside_peers)
        # One that is held, or only just due, is late already.
        ms = max(0, self.clock.due_in_ms(timer))
        return Movement(self, ms, timer.outside, partial(self._sleep_ms, f"{kind}_sleep"))

    def _sleep_ms(self, kind: str) -> int | None:
        """Return the time to the end of the first sleep of this kind; None if nothing sleeps."""
        due_ms = (self.clock.due_in_ms(one) for one in self.clock.timers() if one.kind == kind)
        return min((ms for ms in due_ms if ms > 0), default=None)  # a paused node's stay behind

    def step(self, at_most_ms: int, *, outside_peers: bool = False) -> int:
        """Advance to the next deadline, at most ``at_most_ms``; return the milliseconds moved.

        Deadlines that watch outside peers are considered, and time passes for these peers, only
        with ``outside_peers``.
        """
        ms = self.next_step_ms(at_most_ms, outside_peers=outside_peers)
        self.advance(ms, outside_peers=outside_peers)
        return ms

    def next_step_ms(self, at_most_ms: int, *, outside_peers: bool = False) -> int:
        """Return the milliseconds to the next deadline, at most ``at_most_ms``; see `step`."""
        clock = self.clock
        timers = [timer for timer in clock.timers() if outside_peers or not timer.outside]
        return max(0, min([*map(clock.due_in_ms, timers), at_most_ms]))

    @property
    def node_clocks(self) -> list[NodeClock]:
        """Return the clock of each node, name servers first."""
        clocks = [name_server.clock for name_server in self.name_servers]
        if self.controllers is not None:
            clocks += self.controllers.clocks
        clocks += [broker.clock for broker in self.brokers.values()]
        return clocks if self.proxy is None else [*clocks, self.proxy.clock]

    def _changed(self, how: str, text: str = "") -> None:
        """Record a change of the clock during which no time passed."""
        self.moved(text or how, 0)
        self.on_moved(how)

    def moved(self, how: str, by_ms: int) -> int:
        """Record a change of the clock; return the number of its entry."""
        return self.journal.add(ClockMoved(node=NODE, how=how, by_ms=by_ms))

    def _may_skip(self) -> bool:
        # Peers of a paused node see its silence, and its own timers are overdue: both take effect
        # at their own times.
        states = [broker.state for broker in self.brokers.values()]
        states += [name_server.state for name_server in self.name_servers]
        states += [controller.state for controller in self._controllers]
        if self.proxy is not None:
            states.append(self.proxy.state)
        quiet = (NodeState.RUNNING, NodeState.STOPPED)
        return not self.faults.pending and all(state in quiet for state in states)

    def _skipped(self, ms: int) -> None:
        self.journal.add(RoutineSkipped(node=NODE, ms=ms))

    # -- nodes --------------------------------------------------------------------------------

    def create_topic(self, topic: str, spec: TopicSpec) -> None:
        """Create or change a topic on every running master; raise LookupError if no master runs."""
        masters = self.running_masters()
        if not masters:
            raise LookupError(f"no running master to create topic {topic} at")
        for broker in masters:
            broker.create_topic(topic, spec.queues, attributes=spec.attributes)
        self.network.settle()

    def start_name_server(self, name_server: NameServer) -> None:
        """Start a name server that was stopped; it knows no brokers until they register."""
        name_server.start(self.namesrv_addrs[self.name_servers.index(name_server)])

    @property
    def _controllers(self) -> Sequence[Controller]:
        return () if self.controllers is None else self.controllers.nodes

    def controllers_called(self, which: str | int | None) -> list[Controller]:
        """Return the controller with a number, name or address; all of them for None."""
        if which is None:
            return list(self._controllers)
        for number, one in enumerate(self._controllers):
            if which in (number, one.name, self.controller_addrs[number]):
                return [one]
        there = ", ".join(one.name for one in self._controllers) or "none"
        raise LookupError(f"no controller {which!r}; there are: {there}")

    def part_controllers(self, one: str, other: str, fault: ActiveFault[Any]) -> None:
        """Let two controllers not reach each other while a fault is placed."""
        if self.controllers is not None:
            self.controllers.group.part(one, other, fault)

    def rejoin_controllers(self) -> None:
        """Take note that a fault has ended, which may have separated controllers."""
        if self.controllers is not None:
            self.controllers.group.rejoin()

    def start_controller(self, controller: Controller) -> None:
        """Start a controller that was stopped; it knows no living broker until one beats."""
        controller.start(self.controller_addrs[self._controllers.index(controller)])

    def name_servers_called(self, which: str | int | None) -> list[NameServer]:
        """Return the name server with a number, name or address; all of them for None."""
        if which is None:
            return list(self.name_servers)
        for number, one in enumerate(self.name_servers):
            if which in (number, one.name, self.namesrv_addrs[number]):
                return [one]
        there = ", ".join(one.name for one in self.name_servers) or "none"
        raise LookupError(f"no name server {which!r}; there are: {there}")

    def running_masters(self) -> list[Broker]:
        """Return the brokers at which topics and groups can be changed, and messages seeded.

        Under controllers it is the present `master` of a group alone.
        """
        # Paused and stopped brokers are left out: 1. a paused one would register, although it must
        # send nothing; 2. a stopped one would have the change after its restart, unlike a real one.
        return [
            broker
            for broker in self.brokers.values()
            if broker.state is NodeState.RUNNING
            and not broker.role.is_slave
            and (not broker.role.epoch or broker is self.master(broker.config.broker_name))
        ]

    def broker(self, name: str) -> Broker:
        """Return the broker with this node name; a brokerName means its master.

        Of several masters a running one is preferred. Raise LookupError if there is no such broker.
        """
        broker = self.brokers.get(name) or self.master(name)
        if broker is None:
            there = ", ".join(self.brokers)
            slaves = any(one.config.broker_name == name for one in self.brokers.values())
            raise LookupError(f"no {'master' if slaves else 'broker'} {name!r}; there are: {there}")
        return broker

    def master(self, broker_name: str) -> Broker | None:
        """Return the master of this brokerName, a running one if there is one; None without any.

        Of two masters under a controller it is the later one.

        A peer can rename a broker, or change its role, by UPDATE_BROKER_CONFIG.
        """
        masters = [
            broker
            for broker in self.brokers.values()
            if broker.config.broker_name == broker_name and not broker.role.is_slave
        ]
        return min(masters, key=rank, default=None)

    def _create_topics(self) -> None:
        """Create the topics of the spec; register all of them together afterwards."""
        for broker in self.running_masters():
            with broker.persistence.at_once():
                for topic, spec in self.spec.topics.items():
                    broker.topics.create(topic, spec.queues, attributes=spec.attributes)
