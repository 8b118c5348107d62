"""A run drawn from one seed: cluster, traffic and faults, as a `Plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

import msgspec

from fakemq.randomness import Randomness
from fakemq.sim.faults import EVERYTHING, FAULTS
from fakemq.sim.plan import (
    DELAY_LEVELS,
    MINUTE_MS,
    PRIORITY_TOPIC,
    QUIET_MS,
    REFERENCES,
    TOPICS,
    ClusterPlan,
    ConsumerPlan,
    Plan,
    PlannedFault,
    PopPlan,
    ProducerPlan,
    ReplicasPlan,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

FAULTS_MIN, FAULTS_MAX = 3, 8
FIRST_MS, LAST_MS = 15_000, 15_000
"""Time without faults: after the start, and before the quiet end."""
APART_MS = 5_000
"""The least time between two faults of one target."""


MOST_MINUTES = 525_600
"""One year."""
DRAWN = 0
"""As a number of controllers: it is drawn."""


PRODUCERS = {
    "4.9.7": ("oneway", "sync", "delayed", "transactional", "ordered"),
    "5.5.0": ("oneway", "sync", "delayed", "transactional", "ordered", "timer", "priority"),
}
"""The kinds of producers in a cluster of each reference."""
TOPIC_OF = {"ordered": "payments", "priority": PRIORITY_TOPIC}
"""The topic of a kind of producers; the others send to ``orders``."""
FRONT_PRODUCERS = {
    "grpc_sync": "orders",
    "grpc_priority": PRIORITY_TOPIC,
    "grpc_ordered": "payments",
    "grpc_delayed": "reminders",
    "grpc_transactional": "transfers",
    "oneway": "orders",
    "sync": "orders",
    "timer": "orders",
}
"""The kinds of producers in a cluster with a gRPC front, and their topics."""


REPLICA_PRODUCERS = {
    **dict.fromkeys(("sync", "delayed", "transactional"), "orders"),
    "ordered": "payments",
}
"""The kinds of producers in a cluster with controllers, and their topics."""


class RunKind(TypedDict, total=False):
    """Which kind of run it is, besides its reference."""

    grpc: bool
    """Whether the cluster has a gRPC front."""
    controllers: int | None
    """The number of controllers, `DRAWN` for one that is drawn; None for no such cluster."""
    strong: bool
    """See `Plan.strong`."""


def draw_plan(
    seed: int, minutes: float = 10, reference: str = REFERENCES[0], **kind: Unpack[RunKind]
) -> Plan:
    """Return the plan of ``seed`` for a cluster of a reference.

    Raise ValueError if ``minutes`` leave no time for traffic, or if the reference has no front or
    no controllers.
    """
    grpc, controllers = kind.get("grpc", False), kind.get("controllers")
    if grpc and reference == REFERENCES[0]:
        raise ValueError(f"{reference} has no gRPC front; {REFERENCES[-1]} has one")
    if controllers is not None and (grpc or reference == REFERENCES[0]):
        raise ValueError(f"controllers are drawn for {REFERENCES[-1]} without a gRPC front only")
    if not minutes * MINUTE_MS >= QUIET_MS + MINUTE_MS:  # written so for NaN
        raise ValueError(f"{minutes:g} minutes are too few; 5 or more leave time for traffic")
    if minutes > MOST_MINUTES:
        raise ValueError(f"{minutes:g} minutes are too many; {MOST_MINUTES} is the most")
    randomness = Randomness(seed)
    cluster = _draw_cluster(randomness.stream("cluster"))
    draw_consumers = _draw_front_consumers if grpc else _CONSUMERS[reference]
    topics = (
        FRONT_PRODUCERS
        if grpc
        else {kind: TOPIC_OF.get(kind, "orders") for kind in PRODUCERS[reference]}
    )
    if controllers is not None:
        cluster = _draw_replicas(randomness.stream("replicas"), cluster, controllers)
        draw_consumers, topics = _draw_consumers, REPLICA_PRODUCERS
    consumers = draw_consumers(randomness.stream("consumers"))
    plan = Plan(
        seed=seed,
        minutes=minutes,
        reference=reference,
        cluster=cluster,
        producers=_draw_producers(randomness.stream("producers"), cluster, topics),
        consumers=consumers,
        faults=(),
        grpc=grpc,
        strong=kind.get("strong", False),
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


def _draw_replicas(draw: random.Random, cluster: ClusterPlan, controllers: int) -> ClusterPlan:
    """Draw groups of two or three replicas for a cluster, and how they keep together."""
    return msgspec.structs.replace(
        cluster,
        masters=draw.choice((1, 1, 1, 2)),
        slaves=draw.choice((1, 2)),
        role="SYNC_MASTER",
        replicas=ReplicasPlan(
            controllers=controllers or draw.choice((1, 3)),
            controller_type=draw.choice(("DLedger", "jRaft")),
            all_ack_in_sync_state_set=draw.random() < 0.8,
            min_in_sync_replicas=draw.choice((1, 1, 2)),
            in_sync_replicas=draw.choice((1, 2)),
            broker_heartbeat_interval=draw.choice((1_000, 3_000)),
        ),
    )


def _draw_producers(
    draw: random.Random, cluster: ClusterPlan, topics: Mapping[str, str]
) -> tuple[ProducerPlan, ...]:
    # More are under way when a master goes.
    shortest_ms, longest_ms = (5_000, 12_000) if cluster.replicas is None else (2_000, 6_000)
    queues = tuple(
        (name, queue_id) for name in cluster.broker_names for queue_id in range(TOPICS["payments"])
    )
    return tuple(
        ProducerPlan(
            name=f"{kind.replace('_', '-')}-producer",
            kind=kind,
            topic=topic,
            pause_ms=draw.randint(shortest_ms, longest_ms),
            burst=draw.randint(2, 5),
            body_bytes=draw.choice((10, 200, 2_000)),
            delay_levels=len(DELAY_LEVELS.split()),
            send_timeout_ms=draw.choice((3_000, 10_000)),
            queues=queues if kind == "ordered" else (),
        )
        for kind, topic in topics.items()
    )


def _draw_consumers(draw: random.Random) -> tuple[ConsumerPlan, ...]:
    return (
        *(_consumer(draw, "workers", number, "orders") for number in (1, 2)),
        *(_consumer(draw, "ledger", number, "payments", ordered=True) for number in (1, 2)),
        _consumer(draw, "audit", 1, "orders", "payments", kind="reader"),
    )


def _draw_later_consumers(draw: random.Random) -> tuple[ConsumerPlan, ...]:
    """Draw groups that pop, in order and not, one that pulls, and a reader."""
    shared, members = draw.choice((0, 1)), range(1, draw.choice((2, 2, 3)) + 1)
    workers = [
        _consumer(draw, "workers", number, "orders", PRIORITY_TOPIC, kind="popper")
        for number in members
    ]
    ledger = [
        _consumer(draw, "ledger", number, "payments", kind="ordered_popper", ordered=True)
        for number in (1, 2)
    ]
    return (
        *(msgspec.structs.replace(one, pop=_draw_pop(draw, shared)) for one in workers),
        *(msgspec.structs.replace(one, pop=_draw_pop(draw, 0)) for one in ledger),
        _consumer(draw, "clerks", 1, "orders"),
        _consumer(draw, "audit", 1, "orders", "payments", PRIORITY_TOPIC, kind="reader"),
    )


def _draw_front_consumers(draw: random.Random) -> tuple[ConsumerPlan, ...]:
    """Draw groups that receive over gRPC, one of them in order, one that pulls, and a reader."""
    workers = [
        _consumer(draw, "workers", number, "orders", PRIORITY_TOPIC, "reminders", kind=kind)
        for number, kind in enumerate(("grpc_simple", *draw.choice(_OTHER_WORKERS)), 1)
    ]
    clerks = [
        _consumer(draw, "clerks", number, "orders", "transfers", kind="grpc_push")
        for number in (1, 2)
    ]
    ledger = [
        _consumer(draw, "ledger", number, "payments", kind="grpc_fifo", ordered=True)
        for number in (1, 2)
    ]
    return (
        *(
            msgspec.structs.replace(one, pop=_draw_pop(draw, 0))
            for one in (*workers, *clerks, *ledger)
        ),
        _consumer(draw, "pullers", 1, "orders", "transfers"),
        _consumer(draw, "audit", 1, "orders", "payments", "reminders", kind="reader"),
    )


_OTHER_WORKERS = (("grpc_simple",), ("grpc_simple", "grpc_simple"), ("popper",))
"""The members beside the first one: some speak remoting."""
_CONSUMERS = {"4.9.7": _draw_consumers, "5.5.0": _draw_later_consumers}


def _consumer(
    draw: random.Random,
    group: str,
    number: int,
    *topics: str,
    kind: str = "member",
    ordered: bool = False,
) -> ConsumerPlan:
    return ConsumerPlan(
        name=f"{group}-{number}",
        group=group,
        kind=kind,
        topics=topics,
        ordered=ordered,
        work_ms=draw.choice((0, 20, 200)),
        failing=draw.choice((0.0, 0.1, 0.3)),
        tries=draw.randint(1, 3),
        batch=draw.choice((1, 8, 32)),
        threads=draw.choice((1, 3, 20)),
    )


def _draw_pop(draw: random.Random, share: int) -> PopPlan:
    return PopPlan(
        invisible_ms=draw.choice((10_000, 15_000, 25_000)),
        poll_ms=draw.choice((0, 5_000, 15_000)),
        notified=draw.random() < 0.3,
        batch_acks=draw.random() < 0.4,
        share=share,
        renewing=draw.choice((0.0, 0.1, 0.3)),
        forgetting=draw.choice((0.0, 0.2, 0.5)),
    )


def draw_faults(plan: Plan, draw: random.Random) -> tuple[PlannedFault, ...]:
    """Draw faults that are possible under ``plan``; they are sorted by their begin."""
    possible = {name: list(fault.targets(plan)) for name, fault in FAULTS.items()}
    names = [name for name, targets in possible.items() if targets]
    weights = [FAULTS[name].weight for name in names]
    wanted = draw.randint(FAULTS_MIN, FAULTS_MAX)
    drawn: list[PlannedFault] = []
    while len(drawn) < wanted:
        name = draw.choices(names, weights)[0]
        row, target = FAULTS[name], draw.choice(possible[name])
        amount = row.amounts(draw)
        shortest_ms = min(row.longest_ms, max(1_000, amount + 500 if row.for_good else 0))
        for_ms = draw.randint(shortest_ms, row.longest_ms)
        at_ms = draw.randint(FIRST_MS, max(FIRST_MS, plan.quiet_at_ms - LAST_MS - for_ms))
        fault = PlannedFault(name=name, target=target, at_ms=at_ms, for_ms=for_ms, amount=amount)
        if fault.until_ms < plan.quiet_at_ms and not any(_clash(fault, one) for one in drawn):
            drawn.append(fault)
    return tuple(sorted(drawn, key=lambda fault: (fault.at_ms, fault.target)))


def _clash(one: PlannedFault, other: PlannedFault) -> bool:
    """Return True if two faults cannot be in one run."""
    rows = FAULTS[one.name], FAULTS[other.name]
    if EVERYTHING in (one.target, other.target):
        return one.target == other.target
    if _broker_name(one) == _broker_name(other) and any(row.for_good for row in rows):
        return True  # a second machine could be down while the promise depends on it
    if _broker_name(one) == _broker_name(other) and all(row.loses_machine for row in rows):
        return True
    return (
        one.target == other.target
        and one.at_ms < other.until_ms + APART_MS
        and other.at_ms < one.until_ms + APART_MS
    )


def _broker_name(fault: PlannedFault) -> str:
    return fault.target.rpartition("-")[0]
