"""One run: the cluster and clients of a plan, from the start to the quiet end and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fakemq.clock.node_clock import NodeClock
from fakemq.config.spec import ClusterSpec, cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.randomness import Randomness
from fakemq.sim.consumers import Consumer, MemberConsumer, Reader
from fakemq.sim.events import FaultBegan, FaultEnded, Quiet
from fakemq.sim.faults import FAULTS
from fakemq.sim.history import APPENDS, KINDS, REPLICA_KINDS, V5_KINDS, History
from fakemq.sim.invariants import judge
from fakemq.sim.invariants.tables import disagreements
from fakemq.sim.plan import DELAY_LEVELS, REFERENCES, START_AT
from fakemq.sim.poppers import OrderedPopper, Popper
from fakemq.sim.probe import Probe
from fakemq.sim.producers import KINDS as PRODUCER_KINDS

if TYPE_CHECKING:
    import random

    from fakemq.events.core import Event
    from fakemq.faults.plan import ActiveFault
    from fakemq.namesrv.namesrv import NameServer
    from fakemq.sim.client import SimulatedClient
    from fakemq.sim.history import Violation
    from fakemq.sim.plan import ConsumerPlan, Plan, PlannedFault, ProducerPlan
    from fakemq.sim.pop_watch import PopWatch
    from fakemq.sim.replica_watch import ReplicaWatch

NODE = "simulator"
"""The node name of the simulator in the journal; the timers of faults carry it too."""
GRPC_PORT = 8081
LOOK_MS = 20_000
"""How often the tables of the name servers are compared."""
SERVES_MS = 30_000
"""How long after the last fault each group serves again."""
ROUTES_MS = 1_000
"""How often the masters in routes are compared; one of an earlier epoch is there for seconds."""
DISK_BYTES = 1 << 40
"""The size of each simulated disk, so that the free space of the real one does not matter."""


class SimulationRun:
    """The execution of a plan; ``root`` is an empty folder, needed if stores are on disk.

    The caller advances the time with `pass_to`, in steps of any size, and asks for the `verdict`
    at the end.
    """

    name = NODE

    def __init__(self, plan: Plan, root: str | None = None) -> None:
        self.plan = plan
        spec = _spec(plan, root)
        addrs = [f"{spec.advertised_host}:{port}" for port in spec.namesrv_ports]
        ports = [config.listen_port for config in spec.broker_configs]
        self.core = ClusterCore(
            *(spec, addrs, ports),
            grpc_port=GRPC_PORT if plan.grpc else None,
            controller_addrs=[f"{one.host}:{one.port}" for one in spec.controllers],
        )
        self.history = History(self.core.journal, kinds=_kinds(plan))
        self.clock = NodeClock(self.core.clock, NODE, self.core.journal)
        self.clients: dict[str, SimulatedClient] = {}
        """By their names in the plan; a replacement has another node name."""
        self.lost: set[str] = set()
        """Nodes whose machines were lost for good."""
        self.placed: dict[PlannedFault, list[ActiveFault[Any]]] = {}
        """Planned faults that are active in the cluster's own fault plan, with their parts."""
        self.chosen: dict[PlannedFault, str] = {}
        """The nodes that faults have whose targets are chosen when they begin."""
        self.table_faults: list[Violation] = []
        self.pop_watch = _pop_watch(self.core, self.history, plan)
        self.replica_watch = _replica_watch(self.core, plan)
        self._randomness = Randomness(plan.seed)
        self._generations: dict[str, int] = {}
        self._began_ms = 0

    # -- start to end ----------------------------------------------------------

    def start(self) -> None:
        """Start the cluster and its clients. Elapsed time counts from here."""
        core, plan = self.core, self.plan
        core.start()
        for broker in core.brokers.values():
            if broker.store.disk is not None:
                broker.store.disk_space.resize(DISK_BYTES)
        _set_types(core, plan)
        if plan.grpc:
            _create_groups(core, plan)
        self._began_ms = core.clock.elapsed_ms()
        until_ms = self._began_ms + plan.quiet_at_ms
        for producer in plan.producers:
            draw = self._randomness.stream(f"client {producer.name}")
            self.clients[producer.name] = _producer(core, producer, draw, until_ms)
        for consumer in plan.consumers:
            draw = self._randomness.stream(f"client {consumer.name}")
            self.clients[consumer.name] = _consumer(core, consumer, draw)
        for client in self.clients.values():
            client.start()
        core.network.settle()
        for fault in plan.faults:
            self.after(fault.at_ms, partial(self._begin, fault))
        self.after(plan.quiet_at_ms, self._be_quiet)
        self.after(LOOK_MS, self._look)
        if self.replica_watch is not None:
            self._look_at_routes(self.replica_watch)

    def pass_to(self, at_ms: int) -> None:
        """Advance the time to ``at_ms`` after the start."""
        self.core.clock.advance_ms(max(0, self._began_ms + at_ms - self.core.clock.elapsed_ms()))

    def verdict(self) -> list[Violation]:
        """Check all invariants at the end. Lost machines are started again to read their disks."""
        return judge(self)

    def close(self) -> None:
        """Close all files of the stores."""
        for broker in self.core.brokers.values():
            broker.kill()

    # -- used by faults --------------------------------------------------------

    def after(self, delay_ms: int, act: Callable[[], None]) -> None:
        """Call ``act`` after ``delay_ms`` of virtual time."""
        self.clock.call_later(delay_ms, act, kind="sim_fault")

    def _begin(self, fault: PlannedFault) -> None:
        self.core.journal.add(FaultBegan(node=NODE, fault=fault.name, target=fault.target))
        FAULTS[fault.name].begin(self, fault)
        self.after(fault.for_ms, partial(self._end, fault))

    def _end(self, fault: PlannedFault) -> None:
        FAULTS[fault.name].end(self, fault)
        self.core.journal.add(FaultEnded(node=NODE, fault=fault.name, target=fault.target))

    def lose_machine(self, node: str) -> None:
        """Kill a broker for good, with the bytes that its disk had not stored yet."""
        self.lost.add(node)
        self.core.brokers[node].kill(lose_unsynced=True)

    def _name_server(self, name: str) -> tuple[NameServer, str]:
        core = self.core
        for server, addr in zip(core.name_servers, core.namesrv_addrs, strict=True):
            if server.name == name:
                return server, addr
        raise LookupError(f"no name server {name!r}")

    def stop_name_server(self, name: str) -> None:
        """Kill a name server; its tables are lost."""
        server, addr = self._name_server(name)
        self.core.network.unlisten(addr)
        server.stop("kill")

    def start_name_server(self, name: str) -> None:
        """Start a stopped name server with empty tables."""
        server, addr = self._name_server(name)
        server.start(addr)
        self.core.network.listen(addr, server.accept, name)

    def replace(self, name: str) -> None:
        """Start a new consumer in the place of a killed one: the same plan, another client id."""
        self._generations[name] = self._generations.get(name, 1) + 1
        old = self.clients[name]
        assert isinstance(old, Consumer)
        other_name = f"{name}.{self._generations[name]}"
        draw = self._randomness.stream(f"client {other_name}")
        client = self.clients[name] = _consumer(self.core, replace(old.plan, name=other_name), draw)
        client.start()

    def _be_quiet(self) -> None:
        self.core.journal.add(Quiet(node=NODE))
        if self.plan.cluster.replicas is not None:
            self.after(SERVES_MS, self._probe)

    def _probe(self) -> None:
        """Send to each group: all nodes are up and connected."""
        draw = self._randomness.stream("client probe")
        self.clients["probe"] = Probe(self.core, self.plan.cluster.broker_names, draw)
        self.clients["probe"].start()

    def _look(self) -> None:
        for server in self.core.name_servers:
            elects = self.replica_watch is not None
            self.table_faults += disagreements(server.name, server.tables, elects=elects)
        if self.pop_watch is not None:
            self.pop_watch.look()
        if self.replica_watch is not None:
            self.replica_watch.look()
        self.after(LOOK_MS, self._look)

    def _look_at_routes(self, watch: ReplicaWatch) -> None:
        watch.look_at_routes()
        self.after(ROUTES_MS, partial(self._look_at_routes, watch))


def _producer(
    core: ClusterCore, plan: ProducerPlan, draw: random.Random, until_ms: int
) -> SimulatedClient:
    if plan.kind in PRODUCER_KINDS:
        return PRODUCER_KINDS[plan.kind](core, plan, draw, until_ms)
    from fakemq.sim.front_kinds import PRODUCERS  # they need protobuf

    return PRODUCERS[plan.kind](core, plan, draw, until_ms)


def _consumer(core: ClusterCore, plan: ConsumerPlan, draw: random.Random) -> Consumer:
    if plan.kind in CONSUMER_KINDS:
        return CONSUMER_KINDS[plan.kind](core, plan, draw)
    from fakemq.sim.front_kinds import CONSUMERS  # they need protobuf

    return CONSUMERS[plan.kind](core, plan, draw)


def _set_types(core: ClusterCore, plan: Plan) -> None:
    if plan.types:
        from fakemq.core.changes import set_message_type  # of 5.5.0

        for topic, message_type in plan.types.items():
            set_message_type(core, topic, message_type)


def _create_groups(core: ClusterCore, plan: Plan) -> None:
    """Create the groups of the front's clients: it asks brokers for their order and attempts."""
    from fakemq.broker.v5.topic_changes import put_group
    from fakemq.protocol.bodies.group import SubscriptionGroupConfig

    for consumer in plan.consumers:
        if consumer.pop is not None and consumer.name.endswith("-1"):
            for broker in core.running_masters():
                put_group(
                    broker,
                    SubscriptionGroupConfig(
                        group_name=consumer.group,
                        consume_message_orderly=consumer.ordered,
                        retry_max_times=consumer.tries,
                    ),
                )
    core.network.settle()


def _pop_watch(core: ClusterCore, history: History, plan: Plan) -> PopWatch | None:
    if not plan.pop_groups:
        return None
    from fakemq.sim.pop_watch import PopWatch  # reads tables that only 5.5.0 has

    return PopWatch(core, history, plan.pop_groups)


def _replica_watch(core: ClusterCore, plan: Plan) -> ReplicaWatch | None:
    if plan.cluster.replicas is None:
        return None
    from fakemq.sim.replica_watch import ReplicaWatch  # few clusters have controllers

    return ReplicaWatch(core, plan)


def _kinds(plan: Plan) -> tuple[type[Event], ...]:
    """Return the kinds of events that the invariants of a run read."""
    if plan.reference == REFERENCES[0]:
        return KINDS
    if plan.cluster.replicas is not None:
        return (*KINDS, *REPLICA_KINDS)
    loses = any(FAULTS[fault.name].loses_machine for fault in plan.faults)
    return (*KINDS, *V5_KINDS, *(APPENDS if loses else ()))


def _spec(plan: Plan, root: str | None) -> ClusterSpec:
    cluster = plan.cluster
    config = {
        "mappedFileSizeCommitLog": str(cluster.log_file_bytes),
        "mappedFileSizeConsumeQueue": "2000",
        "messageDelayLevel": DELAY_LEVELS,
        "transactionCheckInterval": "20000",
        "maxMessageSize": "8192",
        "maxHashSlotNum": "500",
        "maxIndexNum": "2000",
    }
    if plan.grpc:
        config["recallMessageEnable"] = "true"
    if cluster.replicas is not None:
        replicas = cluster.replicas
        config |= {
            "controllerType": replicas.controller_type,
            "allAckInSyncStateSet": str(replicas.all_ack_in_sync_state_set).lower(),
            "minInSyncReplicas": str(replicas.min_in_sync_replicas),
            "inSyncReplicas": str(replicas.in_sync_replicas),
            "brokerHeartbeatInterval": str(replicas.broker_heartbeat_interval),
        }
    if cluster.on_disk and root is None:
        raise ValueError("a plan with stores on disk needs a folder for them")
    return cluster_spec(
        masters=cluster.masters,
        slaves=cluster.slaves,
        namesrvs=cluster.namesrvs,
        # Drawn from these; controllers give brokers their roles.
        role=cluster.role if cluster.replicas is None else None,  # type: ignore[arg-type]
        controllers=0 if cluster.replicas is None else cluster.replicas.controllers,
        flush=cluster.flush,  # type: ignore[arg-type]  # drawn from these
        store=root if cluster.on_disk else None,
        namesrv_port=9876,
        broker_port=10911,
        clock="frozen",
        start_at=START_AT,
        seed=plan.seed,
        topics=plan.topics,
        config=config,
        reference=plan.reference,
        ram_size="8GiB",
    )


# The kinds of consumers that a plan may have.

CONSUMER_KINDS: dict[str, type[Consumer]] = {
    "member": MemberConsumer,
    "popper": Popper,
    "ordered_popper": OrderedPopper,
    "reader": Reader,
}
"""To add a kind, add a row: a class that is made of the cluster, its plan and what draws for it."""
