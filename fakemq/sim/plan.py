"""The plan of a simulated run as a plain value: cluster, traffic, faults; `drawing` makes one."""

from __future__ import annotations

import msgspec

from fakemq.sim.history import MASTER

MINUTE_MS = 60_000
QUIET_MS = 4 * MINUTE_MS
"""The quiet time at the end, in which open deliveries finish.

It takes 130 s until a silent broker, or a consumer that vanished, was dropped and is back, and a
minute for checks of transactions, for locks and for retries.
"""
TOPICS = {"orders": 4, "payments": 3}
"""Names and numbers of queues."""
PRIORITY_TOPIC = "alerts"
V5_TOPICS = {**TOPICS, PRIORITY_TOPIC: 3}
"""Those of a cluster of 5.5.0."""
FRONT_TOPICS = {**V5_TOPICS, "reminders": 2, "transfers": 2}
"""Those of a cluster with a gRPC front, which takes messages of one type for each topic."""
FRONT_TYPES = {
    "payments": "FIFO",
    PRIORITY_TOPIC: "PRIORITY",
    "reminders": "DELAY",
    "transfers": "TRANSACTION",
}
GRPC = "grpc_"
"""How the kinds of clients begin that speak gRPC."""
FRONT = "proxy-0"
"""The node name of the front."""
REFERENCES = ("4.9.7", "5.5.0")
"""The first one is the default; its plans are the same as if there were no other one."""
DELAY_LEVELS = "1s 3s 5s 8s 12s 20s 30s"
START_AT = "2023-11-14T22:13:20Z"


class ReplicasPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Controllers, and how far the replicas of a group keep together; fields are keys of configs.

    The replica set is never left: enableElectUncleanMaster is off.
    """

    controllers: int
    controller_type: str
    all_ack_in_sync_state_set: bool
    min_in_sync_replicas: int
    in_sync_replicas: int
    broker_heartbeat_interval: int

    @property
    def nodes(self) -> tuple[str, ...]:
        """The controllers."""
        return tuple(f"controller-{number}" for number in range(self.controllers))


class ClusterPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster; fields are options of `cluster_spec` with the same names."""

    masters: int
    slaves: int
    namesrvs: int
    role: str
    flush: str
    on_disk: bool
    """Whether stores are in a directory; a crash may then lose unflushed bytes."""
    log_file_bytes: int
    """Small, so that the log rolls over in many runs."""
    replicas: ReplicasPlan | None = None
    """The controllers that elect the masters; None without them."""

    @property
    def broker_names(self) -> tuple[str, ...]:
        return tuple(f"broker-{chr(ord('a') + number)}" for number in range(self.masters))

    @property
    def nodes(self) -> tuple[str, ...]:
        """The masters and slaves, named as in `ClusterCore.brokers`."""
        return tuple(
            f"{name}-{number}" if self.replicas is None else f"{name}@{number + 1}"
            for name in self.broker_names
            for number in range(self.slaves + 1)
        )

    @property
    def leading(self) -> tuple[str, ...]:
        """The nodes that may be masters: any of those that controllers elect."""
        if self.replicas is not None:
            return self.nodes
        return tuple(f"{name}{MASTER}" for name in self.broker_names)


class ProducerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A producer; ``kind`` is a row of `producers.KINDS`, or of `front_kinds.PRODUCERS`."""

    name: str
    kind: str
    topic: str
    pause_ms: int
    """The average pause between two sends."""
    burst: int
    body_bytes: int
    delay_levels: int
    send_timeout_ms: int
    """For all attempts of one send; at least as long as a broker waits for its slave."""
    queues: tuple[tuple[str, int], ...]
    """Broker names and queue ids that an ordered producer chooses from."""


class PopPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How a consumer pops. Probabilities are those for each message, or for each pop."""

    invisible_ms: int
    poll_ms: int
    """How long a broker may hold a pop, or a notification before it."""
    notified: bool
    """Whether it asks for a notification, and pops then without waiting."""
    batch_acks: bool
    """Whether it acknowledges the messages of a pop together."""
    share: int
    """The number of further members whose queues it pops, too."""
    renewing: float
    """The probability that it changes the invisible time while it processes a message."""
    forgetting: float
    """The probability that it does nothing about a message that failed."""


class ConsumerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer; ``kind`` is a row of `consumer_kinds.KINDS`, or of `front_kinds.CONSUMERS`."""

    name: str
    group: str
    kind: str
    topics: tuple[str, ...]
    ordered: bool
    work_ms: int
    """The longest time that processing one message takes."""
    failing: float
    """The probability that processing a message fails."""
    tries: int
    """How often a message is sent back before it becomes a dead letter."""
    batch: int
    threads: int
    """How many messages a member processes at the same time."""
    pop: PopPlan | None = None
    """None for one that pulls."""

    @property
    def member(self) -> bool:
        """Whether it shares the queues with others of its group."""
        return self.kind != "reader"


class PlannedFault(msgspec.Struct, frozen=True, kw_only=True):
    """One fault; ``name`` is a row of `faults.FAULTS`."""

    name: str
    target: str
    at_ms: int
    """The begin, in elapsed time."""
    for_ms: int
    amount: int = 0
    """The size of the fault, if it has one: milliseconds, bytes, a response code …"""

    @property
    def until_ms(self) -> int:
        return self.at_ms + self.for_ms


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run. Elapsed time counts from the start of the traffic."""

    seed: int
    minutes: float
    reference: str
    """One of `REFERENCES`."""
    cluster: ClusterPlan
    producers: tuple[ProducerPlan, ...]
    consumers: tuple[ConsumerPlan, ...]
    faults: tuple[PlannedFault, ...]
    grpc: bool = False
    """Whether the cluster has a gRPC front, and clients of it."""
    strong: bool = False
    """Whether also that is a violation which RocketMQ's brokers under controllers do."""

    @property
    def topics(self) -> dict[str, int]:
        if self.grpc:
            return FRONT_TOPICS
        return TOPICS if self.reference == REFERENCES[0] else V5_TOPICS

    @property
    def types(self) -> dict[str, str]:
        """The message types of topics; of others it is NORMAL."""
        if self.grpc:
            return FRONT_TYPES
        return {} if self.reference == REFERENCES[0] else {PRIORITY_TOPIC: "PRIORITY"}

    @property
    def front_clients(self) -> tuple[str, ...]:
        """The names of the clients that speak gRPC."""
        producers = [one.name for one in self.producers if one.kind.startswith(GRPC)]
        consumers = [one.name for one in self.consumers if one.kind.startswith(GRPC)]
        return (*producers, *consumers)

    @property
    def pop_groups(self) -> dict[str, tuple[str, ...]]:
        """The groups whose members pop, with their topics."""
        return {one.group: one.topics for one in self.consumers if one.pop is not None}

    @property
    def length_ms(self) -> int:
        return int(self.minutes * MINUTE_MS)

    @property
    def quiet_at_ms(self) -> int:
        """When all producers have stopped and all faults have ended."""
        return self.length_ms - QUIET_MS
