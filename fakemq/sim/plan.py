"""What a simulation will be, drawn from one seed as a plain value: cluster, traffic, faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fakemq.randomness import Randomness

if TYPE_CHECKING:
    import random

MINUTE_MS = 60_000
QUIET_MS = 4 * MINUTE_MS
"""At the end, for what is on its way: 130 s until a silent broker has gone and come, or a consumer
that vanished, and a minute of checks of transactions, of locks and of retries.
"""
TOPICS = {"orders": 4, "payments": 3}
DELAY_LEVELS = "1s 3s 5s 8s 12s 20s 30s"
START_AT = "2023-11-14T22:13:20Z"
FAULTS_MIN, FAULTS_MAX = 3, 8


class ClusterPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster: options of `cluster_spec` by the same names."""

    masters: int
    slaves: int
    namesrvs: int
    role: str
    flush: str
    on_disk: bool
    """Whether stores are in a directory; kills may take what was not flushed then."""
    log_file_bytes: int
    """Small, so that many runs see the log roll over."""

    @property
    def broker_names(self) -> tuple[str, ...]:
        return tuple(f"broker-{chr(ord('a') + number)}" for number in range(self.masters))

    @property
    def nodes(self) -> tuple[str, ...]:
        """Masters and slaves, as `ClusterCore.brokers` names them."""
        return tuple(
            f"{name}-{number}" for name in self.broker_names for number in range(self.slaves + 1)
        )


class ProducerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A producer; ``kind`` is a row of `producers.KINDS`."""

    name: str
    kind: str
    topic: str
    pause_ms: int
    """Between sends, on the average."""
    burst: int
    body_bytes: int
    delay_levels: int
    send_timeout_ms: int
    """For all attempts of one send: as long as a broker waits for its slave, or longer."""
    queues: tuple[tuple[str, int], ...]
    """Broker names and queue ids that one who sends in order chooses among."""


class ConsumerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer; one that is no ``member`` takes all queues for itself."""

    name: str
    group: str
    topics: tuple[str, ...]
    ordered: bool
    member: bool
    work_ms: int
    """What a message takes at most."""
    failing: float
    """How likely it is that it cannot cope with a message."""
    tries: int
    """How often a message is sent back before it is a dead letter."""
    batch: int


class PlannedFault(msgspec.Struct, frozen=True, kw_only=True):
    """One fault; ``name`` is a row of `faults.FAULTS`."""

    name: str
    target: str
    at_ms: int
    """Of elapsed time, as is when it is over."""
    for_ms: int
    amount: int = 0
    """For those that have a size: milliseconds, a kind …"""

    @property
    def until_ms(self) -> int:
        return self.at_ms + self.for_ms


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run; elapsed time is counted from the start of the traffic."""

    seed: int
    minutes: float
    cluster: ClusterPlan
    producers: tuple[ProducerPlan, ...]
    consumers: tuple[ConsumerPlan, ...]
    faults: tuple[PlannedFault, ...]

    @property
    def length_ms(self) -> int:
        return int(self.minutes * MINUTE_MS)

    @property
    def quiet_at_ms(self) -> int:
        """When producers have sent their last and all faults are over."""
        return self.length_ms - QUIET_MS


def draw_plan(seed: int, minutes: float = 10) -> Plan:
    """The run of ``seed``; ValueError for fewer minutes than traffic and a quiet end take."""
    if minutes * MINUTE_MS < QUIET_MS + MINUTE_MS:
        raise ValueError(f"{minutes:g} minutes are too few; 5 or more leave time for traffic")
    from fakemq.sim.faults import draw_faults

    randomness = Randomness(seed)
    cluster = _draw_cluster(randomness.stream("cluster"))
    consumers = _draw_consumers(randomness.stream("consumers"))
    plan = Plan(
        seed=seed,
        minutes=minutes,
        cluster=cluster,
        producers=_draw_producers(randomness.stream("producers"), cluster),
        consumers=consumers,
        faults=(),
    )
    return msgspec.structs.replace(plan, faults=draw_faults(plan, randomness.stream("faults")))


def _draw_cluster(draw: random.Random) -> ClusterPlan:
    role = draw.choice(("ASYNC_MASTER", "SYNC_MASTER"))
    return ClusterPlan(
        masters=draw.choice((1, 1, 2)),
        slaves=1 if role == "SYNC_MASTER" else draw.choice((0, 1)),
        namesrvs=draw.choice((1, 1, 2)),
        role=role,
        flush=draw.choice(("ASYNC_FLUSH", "SYNC_FLUSH")),
        on_disk=draw.random() < 0.5,
        log_file_bytes=draw.choice((32, 64, 128, 1024)) * 1024,
    )


def _draw_producers(draw: random.Random, cluster: ClusterPlan) -> tuple[ProducerPlan, ...]:
    kinds = ("oneway", "sync", "delayed", "transactional", "ordered")
    queues = tuple(
        (name, queue_id) for name in cluster.broker_names for queue_id in range(TOPICS["payments"])
    )
    return tuple(
        ProducerPlan(
            name=f"{kind}-producer",
            kind=kind,
            topic="payments" if kind == "ordered" else "orders",
            pause_ms=draw.randint(5_000, 12_000),
            burst=draw.randint(2, 5),
            body_bytes=draw.choice((10, 200, 2_000)),
            delay_levels=len(DELAY_LEVELS.split()),
            send_timeout_ms=draw.choice((3_000, 10_000)),
            queues=queues if kind == "ordered" else (),
        )
        for kind in kinds
    )


def _draw_consumers(draw: random.Random) -> tuple[ConsumerPlan, ...]:
    def plan(group: str, number: int, *topics: str, **fields: bool) -> ConsumerPlan:
        return ConsumerPlan(
            name=f"{group}-{number}",
            group=group,
            topics=topics,
            ordered=fields.get("ordered", False),
            member=fields.get("member", True),
            work_ms=draw.choice((0, 20, 200)),
            failing=draw.choice((0.0, 0.1, 0.3)),
            tries=draw.randint(1, 3),
            batch=draw.choice((1, 8, 32)),
        )

    return (
        *(plan("workers", number, "orders") for number in (1, 2)),
        *(plan("ledger", number, "payments", ordered=True) for number in (1, 2)),
        plan("audit", 1, "orders", "payments", member=False),
    )
