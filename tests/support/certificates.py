"""Certificates of authorities that a test makes, as files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import trustme

from fakemq.tls.authority import pkcs8


class Certificates:
    """An authority with its file ``ca``; `pair` makes a certificate and its key in a folder."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._authority = trustme.CA()
        self._folder = folder
        self.ca = str(folder / f"{name}.pem")
        self._authority.cert_pem.write_to_path(self.ca)

    def pair(
        self, name: str, *hosts: str, expired: bool = False, netty: bool = False
    ) -> tuple[str, str]:
        """Return the paths of a certificate for the hosts, 127.0.0.1 by default, and its key.

        With ``netty`` the key is PKCS#8, the only kind that Netty reads.
        """
        times: dict[str, Any] = {}
        if expired:
            times["not_after"] = datetime.now(UTC) - timedelta(days=1)
        issued = self._authority.issue_cert(*(hosts or ("127.0.0.1",)), **times)
        cert, key = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        issued.cert_chain_pems[0].write_to_path(cert)
        text = issued.private_key_pem.bytes()
        key.write_bytes(pkcs8(text) if netty else text)
        return str(cert), str(key)

    def server_keys(
        self, *hosts: str, expired: bool = False, auth: str = "none", netty: bool = False
    ) -> dict[str, str]:
        """Return a ``tls.properties`` with a certificate of this authority."""
        cert, key = self.pair("server", *hosts, expired=expired, netty=netty)
        return {
            "tls.test.mode.enable": "false",
            "tls.server.certPath": cert,
            "tls.server.keyPath": key,
            "tls.server.need.client.auth": auth,
            "tls.server.authClient": str(auth != "none").lower(),
            "tls.server.trustCertPath": self.ca,
        }
