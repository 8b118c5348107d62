"""The clusters that scenarios run on: the fake in this process, and the real one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import fakemq
from conformance.java_cluster import JavaCluster
from conformance.scenario import MASTERS
from fakemq.machine_time import real_wall_ms


class FakeTarget:
    """A frozen fakemq cluster: time passes when the scenario says so."""

    def __init__(self, cluster: fakemq.Cluster) -> None:
        self._cluster = cluster
        self.namesrv_addr = cluster.namesrv_addr

    def now_ms(self) -> int:
        return self._cluster.clock.now_ms()

    def pass_time(self, ms: int) -> None:
        # A scenario's peers live in this process: for them time is the cluster's.
        self._cluster.clock.advance(ms / 1000, outside_peers=True)


class JavaTarget:
    """A real cluster: time passes by itself."""

    def __init__(self, cluster: JavaCluster) -> None:
        self.namesrv_addr = cluster.namesrv_addr

    def now_ms(self) -> int:
        return real_wall_ms()

    def pass_time(self, ms: int) -> None:
        time.sleep(ms / 1000)


@contextmanager
def fake_target(config: Mapping[str, str] | None = None) -> Iterator[FakeTarget]:
    """A fresh fake whose brokers are configured so."""
    with fakemq.Cluster(masters=MASTERS, clock="frozen", config=config or {}) as cluster:
        yield FakeTarget(cluster)


@contextmanager
def java_target(config: Mapping[str, str] | None = None) -> Iterator[JavaTarget]:
    """A fresh real cluster of 4.9.7 whose brokers are configured so."""
    with JavaCluster(masters=MASTERS, config=config) as cluster:
        yield JavaTarget(cluster)
