"""The clusters that scenarios run on: the fake in this process, and the real one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import fakemq
from conformance.java_cluster import JavaCluster
from conformance.scenario import MASTERS


class FakeTarget:
    """A frozen fakemq cluster: time passes when the scenario says so."""

    def __init__(self, cluster: fakemq.Cluster) -> None:
        self._cluster = cluster
        self.namesrv_addr = cluster.namesrv_addr

    def pass_time(self, ms: int) -> None:
        # A scenario's peers live in this process: for them time is the cluster's.
        self._cluster.clock.advance(ms / 1000, outside_peers=True)


class JavaTarget:
    """A real cluster: time passes by itself."""

    def __init__(self, cluster: JavaCluster) -> None:
        self.namesrv_addr = cluster.namesrv_addr

    def pass_time(self, ms: int) -> None:
        time.sleep(ms / 1000)


@contextmanager
def fake_target() -> Iterator[FakeTarget]:
    """A fresh fake."""
    with fakemq.Cluster(masters=MASTERS, clock="frozen") as cluster:
        yield FakeTarget(cluster)


@contextmanager
def java_target() -> Iterator[JavaTarget]:
    """A fresh real cluster of 4.9.7."""
    with JavaCluster(masters=MASTERS) as cluster:
        yield JavaTarget(cluster)
