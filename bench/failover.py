"""What changes of a group under a controller take on a frozen clock, and what they leave behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from bench.family import resident_bytes
from bench.measure import Figure, Plan, best_ms
from fakemq import Cluster

if TYPE_CHECKING:
    from fakemq.core.replicas import ReplicaGroup

GROUP = "broker-a"
FAIL_OVERS, WARM_UP = 1_000, 250
"""How many there are, and after how many the journal is full and its memory the largest."""
NOISE_KIB = 512
AT_MOST_MS = 5
HOUR_AT_MOST_MS = 1_000


class Change(NamedTuple):
    """A change of the group: how long ``act`` takes, after ``prepare``, and what is true then."""

    name: str
    prepare: Callable[[Cluster], object]
    act: Callable[[Cluster], object]
    happened: Callable[[ReplicaGroup], bool]
    at_most: float = AT_MOST_MS


def _settled(mq: Cluster) -> None:
    """Let all replicas have reported, and tables have been copied."""
    mq.clock.advance("30s")


def _silent_master(mq: Cluster) -> None:
    _settled(mq)
    mq.broker(GROUP).pause()


def _silent_slave(mq: Cluster) -> None:
    _settled(mq)
    mq.broker("broker-a@3").pause()


def _slave_is_back(mq: Cluster) -> None:
    _silent_slave(mq)
    mq.clock.advance("20s")
    mq.broker("broker-a@3").resume()


def _is_elected(group: ReplicaGroup) -> bool:
    return group.epoch == 2 and group.master is not None


CHANGES = (
    Change("a fail-over", _settled, lambda mq: mq.failover(GROUP), _is_elected),
    Change(
        "an election after a silent master, 15 s",
        _silent_master,
        lambda mq: mq.clock.advance("15s"),
        _is_elected,
    ),
    Change(
        "the set shrinks after a silent slave, 16 s",
        _silent_slave,
        lambda mq: mq.clock.advance("16s"),
        lambda group: len(group.in_sync) == 2,
    ),
    Change(
        "the set grows again, 11 s",
        _slave_is_back,
        lambda mq: mq.clock.advance("11s"),
        lambda group: len(group.in_sync) == 3,
    ),
    Change(
        "a group idles, 1 h",
        _settled,
        lambda mq: mq.clock.advance("1h"),
        lambda group: len(group.in_sync) == 3,
        HOUR_AT_MOST_MS,
    ),
)


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield the time of each change, and the memory that 1,000 fail-overs add."""
    with Cluster(slaves=2, controllers=1, clock="frozen", topics={"orders": 2}) as mq:
        for change in CHANGES:
            if plan.wants(change.name):
                yield Figure(
                    group="failover",
                    name=change.name,
                    value=min(once(mq, change) for _ in range(plan.runs)),
                    unit="ms",
                    at_most=change.at_most,
                    note="a group of three replicas, one controller",
                )
    name = f"{FAIL_OVERS:,} fail-overs add"
    if plan.wants(name):
        note = f"resident memory, beyond the first {WARM_UP} fail-overs"
        yield Figure(
            group="failover", name=name, value=grown_kib(), unit="KiB", at_most=NOISE_KIB, note=note
        )


def once(mq: Cluster, change: Change) -> float:
    """Return how long a change takes, in milliseconds; raise ValueError if it did not happen."""
    mq.reset()
    change.prepare(mq)
    took_ms = best_ms(lambda: change.act(mq), 1)
    found = mq.group_of(GROUP)
    if not change.happened(found):
        raise ValueError(f"{change.name}: has not happened: {found}")
    return took_ms


def grown_kib(count: int = FAIL_OVERS, warm_up: int = WARM_UP) -> float:
    """Return how much memory ``count`` fail-overs add, the first ``warm_up`` not counted."""
    with Cluster(slaves=2, controllers=1, clock="frozen") as mq:
        for _ in range(warm_up):
            fail_over(mq)
        before = resident_bytes(os.getpid())
        for _ in range(count - warm_up):
            fail_over(mq)
        return (resident_bytes(os.getpid()) - before) / 1024


def fail_over(mq: Cluster) -> None:
    """Kill the master, let it come back as a slave, and wait until all are in sync again."""
    dead = mq.broker(GROUP)
    mq.failover(GROUP)
    dead.restart()
    mq.clock.advance("30s")
    found = mq.group_of(GROUP)
    if len(found.in_sync) != len(found.replicas):
        raise ValueError(f"a fail-over has not ended after 30 s: {found}")
