"""A real cluster and a fake one that have the same configuration."""

from __future__ import annotations

from typing import NamedTuple

from conformance.targets.java_cluster import JavaCluster
from conformance.targets.processes import FakemqProcess

TWO_MASTERS = ("--namesrv-port", "0", "--broker-port", "0", "--masters", "2")
QUICK = {
    "messageDelayLevel": " ".join(["1s", "2s", *["1s"] * 16]),
    "transactionCheckInterval": "3000",
    "transactionTimeOut": "1000",
    "transactionCheckMax": "3",
    "enablePropertyFilter": "true",
    "traceTopicEnable": "true",
}
"""Broker properties with which nothing takes long and nothing is switched off."""
REAL_QUICK = {**QUICK, "consumerManageThreadPoolNums": "1"}
"""The same for real brokers, which answer a query after the one-way commit that came before it.

A client that resets offsets needs that, and a thread more may change the order.
"""


class QuickPair(NamedTuple):
    """Two masters each, and the same properties, with which nothing takes long."""

    real: JavaCluster
    fake: FakemqProcess
