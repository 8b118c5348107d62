"""A real cluster and a fake one that have the same configuration."""

from __future__ import annotations

from typing import NamedTuple

from conformance.targets.java_cluster import JavaCluster
from conformance.targets.processes import FakemqProcess


class QuickPair(NamedTuple):
    """Two masters each, and the same properties, with which nothing takes long."""

    real: JavaCluster
    fake: FakemqProcess
