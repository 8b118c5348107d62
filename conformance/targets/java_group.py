"""A real master of 5.5.0 and its slaves, of which the lowest acts as master while it is away."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from conformance.targets.java_cluster import SMALL_JVM, JavaBroker, JavaCluster, wait_until
from conformance.targets.java_jars import NEWEST
from conformance.targets.master_slave_pairs import SLAVE, broker_ids

NAMESRV = {"supportActingMaster": "true", "notifyMinBrokerIdChanged": "true"}
READY_S = 60.0
OTHER = "broker-b"


def has_another(config: Mapping[str, str]) -> bool:
    """Return whether brokers of this config need another master besides their own."""
    return config.get("enableRemoteEscape") == "true"


@contextmanager
def java_group(
    slaves: int, config: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, JavaBroker]]]:
    """The name server's address, and the brokers by name: ``broker-a``, ``broker-a-1``, …

    With enableRemoteEscape there is another master, ``broker-b``: what slaves send goes there.
    """
    with (
        tempfile.TemporaryDirectory(prefix="rocketmq-") as folder,
        JavaCluster(masters=0, version=NEWEST, namesrv_config=NAMESRV) as real,
    ):
        brokers: dict[str, JavaBroker] = {}
        try:
            for number in range(1 + slaves):
                name = f"broker-a-{number}" if number else "broker-a"
                one = JavaBroker("broker-a", Path(folder, name), real.namesrv, SMALL_JVM, NEWEST)
                one.config |= config
                if number:
                    one.config |= {**SLAVE, "brokerId": str(number)}
                brokers[name] = one
                one.start()
            if has_another(config):
                other = JavaBroker(OTHER, Path(folder, OTHER), real.namesrv, SMALL_JVM, NEWEST)
                other.config |= config
                brokers[OTHER] = other
                other.start()
            ids = list(range(1 + slaves))
            wait_until(lambda: broker_ids(real.namesrv.addr) == ids, READY_S)
            yield real.namesrv.addr, brokers
        finally:
            for one in brokers.values():
                one.kill()
