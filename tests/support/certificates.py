"""Certificates of authorities that a test makes, as files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import trustme


class Certificates:
    """An authority with its file ``ca``; `pair` makes a certificate and its key in a folder."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._authority = trustme.CA()
        self._folder = folder
        self.ca = str(folder / f"{name}.pem")
        self._authority.cert_pem.write_to_path(self.ca)

    def pair(self, name: str, *hosts: str, expired: bool = False) -> tuple[str, str]:
        """Return the paths of a certificate for the hosts, 127.0.0.1 by default, and its key."""
        times: dict[str, Any] = {}
        if expired:
            times["not_after"] = datetime.now(UTC) - timedelta(days=1)
        issued = self._authority.issue_cert(*(hosts or ("127.0.0.1",)), **times)
        cert, key = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        issued.cert_chain_pems[0].write_to_path(cert)
        issued.private_key_pem.write_to_path(key)
        return str(cert), str(key)

    def server_keys(self, *hosts: str, expired: bool = False, auth: str = "none") -> dict[str, str]:
        """Return a ``tls.properties`` with a certificate of this authority."""
        cert, key = self.pair("server", *hosts, expired=expired)
        return {
            "tls.test.mode.enable": "false",
            "tls.server.certPath": cert,
            "tls.server.keyPath": key,
            "tls.server.need.client.auth": auth,
            "tls.server.authClient": str(auth != "none").lower(),
            "tls.server.trustCertPath": self.ca,
        }
