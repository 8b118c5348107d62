"""One set of certificates for real and fake clusters and their clients."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conformance.targets.free_ports import free_port
from conformance.targets.java_cluster import SMALL_JVM, JavaNode
from fakemq.tls.authority import Authority


class Tls:
    """Certificates, and the flags of JVMs that use them; `close` deletes the files."""

    def __init__(self) -> None:
        self.authority = Authority(["127.0.0.1", "localhost"])
        self.config_file = self.authority.properties_path
        self.ca_file = self.authority.ca_path

    def server_jvm(self, mode: str, config_file: str | None = None) -> tuple[str, ...]:
        """Return the flags of a name server or broker, with another file if one is given."""
        return f"-Dtls.server.mode={mode}", f"-Dtls.config.file={config_file or self.config_file}"

    def client_jvm(self) -> tuple[str, ...]:
        """Return the flags of a client, which checks the server's certificate."""
        return "-Dtls.enable=true", f"-Dtls.config.file={self.config_file}"

    def close(self) -> None:
        self.authority.close()


def namesrv(home: Path, tls_flags: Sequence[str]) -> JavaNode:
    """Return a real name server that has not begun."""
    main = "org.apache.rocketmq.namesrv.NamesrvStartup"
    node = JavaNode(home.name, home, main, free_port(), (*SMALL_JVM, *tls_flags))
    node.config = {"listenPort": str(node.port), "kvConfigPath": str(home / "kv.json")}
    return node
