"""``python -m conformance.targets.serve``: a real RocketMQ cluster, until Ctrl-C.

``pytest --rocketmq-compare HOST:PORT`` compares the tests of a project with it.
"""

from __future__ import annotations

import argparse
import signal
import sys

from conformance.targets.java_cluster import JavaCluster
from conformance.targets.java_jars import CLIENT_VERSIONS, REFERENCE, missing_java


def main(arguments: list[str] | None = None) -> int:
    """Start the cluster, print its address, wait for a signal."""
    parser = argparse.ArgumentParser(
        prog="python -m conformance.targets.serve", description=__doc__
    )
    parser.add_argument("--masters", type=int, default=1)
    parser.add_argument("--version", choices=CLIENT_VERSIONS, default=REFERENCE)
    parser.add_argument("config", nargs="*", metavar="KEY=VALUE", help="a broker's config")
    options = parser.parse_args(arguments)
    missing = missing_java()
    if missing is not None:
        parser.error(missing)
    config = dict(one.split("=", 1) for one in options.config)
    with JavaCluster(options.masters, config=config, version=options.version) as cluster:
        print(f"RocketMQ {options.version} ready: {cluster.namesrv_addr}", flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    sys.exit(main())
