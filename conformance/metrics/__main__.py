"""Record the metrics of real nodes: ``python -m conformance.metrics``.

A broker after the requests of `traffic`; a controller after an election; a proxy.
"""

from __future__ import annotations

import subprocess

from conformance.metrics.real import OVER_S, exporting, scrape_of_java
from conformance.metrics.scrape import HEAD, RECORDINGS, normalised, scrape
from conformance.targets.java_cluster import JavaNode, wait_until
from conformance.targets.java_controllers import JavaControllers, replicas_info
from conformance.targets.java_proxy import java_proxy


def _free_port_of(node: JavaNode) -> int:
    """Return the port for metrics that a node with port 0 has chosen."""
    table = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout
    ports = [
        int(line.split()[3].rpartition(":")[2])
        for line in table.splitlines()
        if f"pid={node.pid}," in line
    ]
    for port in ports:
        try:
            if "# TYPE" in scrape(f"127.0.0.1:{port}"):
                return port
        except OSError:
            continue
    raise LookupError(f"no metrics at {ports}")


def _write(node: str, text: str) -> None:
    RECORDINGS.mkdir(exist_ok=True)
    lines = normalised(text)
    path = RECORDINGS / f"{node}.txt"
    path.write_text(HEAD.format(node=node) + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path.name}: {len(lines)} lines")


def main() -> None:
    _write("broker", scrape_of_java())
    with JavaControllers(1, replicas=2, config=exporting(0)) as cluster:
        [controller] = cluster.controllers
        with java_proxy(cluster.namesrv_addr, exporting(0)) as proxy:
            _write("proxy", scrape(f"127.0.0.1:{_free_port_of(proxy)}"))
        port = _free_port_of(controller)
        master = replicas_info(controller.addr)["masterBrokerId"]
        cluster.brokers[f"broker-a@{master}"].kill()
        wait_until(lambda: 'cluster="",election' in _elections(port), OVER_S)
        _write("controller", scrape(f"127.0.0.1:{port}"))


def _elections(port: int) -> str:
    lines = scrape(f"127.0.0.1:{port}").splitlines()
    return "\n".join(line for line in lines if line.startswith("election_total"))


if __name__ == "__main__":
    main()
