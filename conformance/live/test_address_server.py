"""Brokers of both kinds ask one address server for their name servers, and register there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import fakemq
from conformance.live.groups import WAITING
from conformance.targets.java_cluster import SMALL_JVM, JavaBroker, JavaNode
from conformance.targets.processes import FakemqProcess
from fakemq.client import Client

# Slow: a broker asks 10 s after its start.
pytestmark = [pytest.mark.slow, WAITING]

REGISTERED_S = 75.0


@contextmanager
def address_server(namesrv_addr: str) -> Iterator[tuple[str, list[str]]]:
    """Serve a name server's address; yield the server's own, and the paths that are asked for."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"{namesrv_addr}\n".encode())

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}", paths
        finally:
            server.shutdown()
            thread.join()


def test_real_and_fake_broker_register_where_an_address_server_says(
    java: None, tmp_path: Path
) -> None:
    with (
        fakemq.Cluster() as mq,
        address_server(mq.namesrv_addr) as (addr, paths),
        Client(mq.namesrv_addr) as client,
    ):
        keys = {
            "fetchNamesrvAddrByAddressServer": "true",
            "rmqAddressServerDomain": addr,
            "rmqAddressServerSubGroup": "lab",
        }
        nowhere = JavaNode("none", tmp_path / "none", "", 1, ())
        real = JavaBroker("broker-real", tmp_path / "real", nowhere, SMALL_JVM)
        del real.config["namesrvAddr"]
        real.config |= keys
        own = {**keys, "listenPort": "0", "brokerIP1": "127.0.0.1", "brokerName": "broker-fake"}
        config = [f"{key}={value}" for key, value in own.items()]
        try:
            real.launch()
            with FakemqProcess("broker", config=config):
                mq.wait_for(
                    lambda: (
                        {"broker-real", "broker-fake"}
                        <= set(client.cluster_info().broker_addr_table)
                    ),
                    REGISTERED_S,
                )
        finally:
            real.kill()
        assert paths == ["/rocketmq/lab", "/rocketmq/lab"]
