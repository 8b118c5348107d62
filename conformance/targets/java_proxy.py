"""A real proxy of 5.5.0, by which gRPC clients reach brokers, real or fake."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from conformance.targets.java_cluster import SMALL_JVM, JavaNode, free_port
from conformance.targets.java_jars import NEWEST, Extra


class JavaProxy(JavaNode):
    """A proxy of 5.5.0 in cluster mode, for gRPC clients, in front of any brokers."""

    extra: Extra = "proxy"

    def __init__(self, home: Path, namesrv_addr: str, jvm: Sequence[str] = SMALL_JVM) -> None:
        main = "org.apache.rocketmq.proxy.ProxyStartup"
        super().__init__("proxy", home, main, free_port(), jvm, NEWEST)
        self.config = {
            "rocketMQClusterName": "DefaultCluster",
            "namesrvAddr": namesrv_addr,
            "proxyMode": "cluster",
            "grpcServerPort": str(self.port),
            "remotingListenPort": str(free_port()),
            "localServeAddr": "127.0.0.1",
        }

    def arguments(self) -> Sequence[str]:
        path = self.home / "proxy.json"
        numbers = {key: int(value) for key, value in self.config.items() if key.endswith("Port")}
        path.write_text(json.dumps(self.config | numbers))
        return "-pm", "cluster", "-pc", str(path)
