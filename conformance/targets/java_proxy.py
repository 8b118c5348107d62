"""A real proxy of 5.5.0, by which gRPC clients reach brokers, real or fake."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from conformance.targets.free_ports import free_port
from conformance.targets.java_cluster import SMALL_JVM, JavaNode
from conformance.targets.java_jars import NEWEST, Extra

TLS_JVM = tuple(flag for flag in SMALL_JVM if not flag.startswith("-Dtls."))
"""A proxy that takes TLS, too, with a certificate that it makes itself."""


class JavaProxy(JavaNode):
    """A proxy of 5.5.0 in cluster mode, for gRPC clients, in front of any brokers."""

    extra: Extra = "proxy"

    def __init__(
        self,
        home: Path,
        namesrv_addr: str,
        jvm: Sequence[str] = SMALL_JVM,
        config: Mapping[str, str] | None = None,
    ) -> None:
        main = "org.apache.rocketmq.proxy.ProxyStartup"
        super().__init__("proxy", home, main, free_port(), jvm, NEWEST)
        self.config = {
            "rocketMQClusterName": "DefaultCluster",
            "namesrvAddr": namesrv_addr,
            "proxyMode": "cluster",
            "grpcServerPort": str(self.port),
            "remotingListenPort": str(free_port()),
            "localServeAddr": "127.0.0.1",
        } | dict(config or {})

    @property
    def door_addr(self) -> str:
        """Where clients that speak remoting reach it; routes name this address."""
        return f"127.0.0.1:{self.config['remotingListenPort']}"

    def arguments(self) -> Sequence[str]:
        path = self.home / "proxy.json"
        numbers = {key: int(value) for key, value in self.config.items() if value.isdigit()}
        path.write_text(json.dumps(self.config | numbers))
        return "-pm", "cluster", "-pc", str(path)


@contextmanager
def java_proxy(
    namesrv_addr: str,
    config: Mapping[str, str] | None = None,
    jvm: Sequence[str] = SMALL_JVM,
) -> Iterator[JavaProxy]:
    """Run a proxy in front of the brokers of a name server, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="rocketmq-proxy-") as home:
        running = JavaProxy(Path(home), namesrv_addr, jvm, config)
        try:
            running.start()
            yield running
        finally:
            running.kill()
