"""What a hundred clients leave behind after they have left: nothing should grow."""

from __future__ import annotations

import asyncio
import gc
import os
import tracemalloc
from collections.abc import Iterator

from bench.measure import Figure, Plan
from fakemq import Cluster
from fakemq.client.blocking import Client
from fakemq.client.messages import Message
from fakemq.protocol.bodies.body import forget_encoded
from fakemq.protocol.hosts import pack_host, parse_host, record_host, unpack_host

CYCLES = 100
WARM_UP = 300
"""Cycles until every table with a bounded number of dead entries is full."""
NOISE_KIB = 16
_CACHED = (pack_host, parse_host, record_host, unpack_host)
"""Caches of a fixed size, which the addresses of clients fill."""


class Held(dict[str, int]):
    """What a process and its cluster hold: descriptors, tasks, timers, sessions, bytes."""


def held(mq: Cluster) -> Held:
    """Count, after a reset that empties journal and store."""
    mq.reset()
    core = mq.inspect(lambda core: core)
    for cached in _CACHED:
        cached.cache_clear()
    forget_encoded()
    gc.collect()
    return Held(
        descriptors=len(os.listdir("/proc/self/fd")),
        tasks=mq.inspect(lambda core: len(asyncio.all_tasks())),
        timers=len(mq.clock.timers()),
        sessions=sum(len(one.sessions) for one in core.brokers.values()),
        objects=len(gc.get_objects()),
        bytes=tracemalloc.get_traced_memory()[0],
    )


def cycle(mq: Cluster) -> None:
    """A client connects, joins a group, sends, and closes; another one drops its connection."""
    with Client(mq.namesrv_addr, consumer_group="billing") as client:
        client.subscribe("orders")
        client.heartbeat()
        client.send(Message("orders", b"body"))
    rude = Client(mq.namesrv_addr, consumer_group="billing")
    rude.subscribe("orders")
    rude.heartbeat()
    rude._carrier.close()
    broker = mq.inspect(lambda core: core.broker("broker-a"))
    mq.wait_for(lambda: not broker.sessions)


def grown(cycles: int = CYCLES, warm_up: int = WARM_UP) -> Held:
    """Return the growth of everything held over ``cycles``."""
    tracemalloc.start()
    try:
        with Cluster(topics={"orders": 4}) as mq:
            for _ in range(warm_up):
                cycle(mq)
            before = held(mq)
            for _ in range(cycles):
                cycle(mq)
            after = held(mq)
    finally:
        tracemalloc.stop()
    return Held({name: after[name] - before[name] for name in after})


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield the growth over 100 cycles of two clients each."""
    for name, value in grown().items():
        unit, at_most = "", 0.0
        amount: float = value
        if name == "bytes":
            amount, unit, at_most = value / 1024, "KiB", NOISE_KIB
        elif name == "objects":
            at_most = 100
        yield Figure(
            group="leaks", name=f"{name} left by {CYCLES} cycles", value=amount, unit=unit,
            at_most=at_most,
        )  # fmt: skip
