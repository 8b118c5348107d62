"""One set of certificates for real and fake clusters and their clients."""

from __future__ import annotations

from fakemq.tls.authority import Authority


class Tls:
    """Certificates, and the flags of JVMs that use them; `close` deletes the files."""

    def __init__(self) -> None:
        self.authority = Authority(["127.0.0.1", "localhost"])
        self.config_file = self.authority.properties_path
        self.ca_file = self.authority.ca_path

    def server_jvm(self, mode: str) -> tuple[str, ...]:
        """Return the flags of a name server or broker."""
        return f"-Dtls.server.mode={mode}", f"-Dtls.config.file={self.config_file}"

    def client_jvm(self) -> tuple[str, ...]:
        """Return the flags of a client, which checks the server's certificate."""
        return "-Dtls.enable=true", f"-Dtls.config.file={self.config_file}"

    def close(self) -> None:
        self.authority.close()
