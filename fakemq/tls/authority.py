"""A certificate authority that lives as long as its cluster, with a certificate for each side."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fakemq.errors import ConfigError, FakemqError

if TYPE_CHECKING:
    import trustme


class Authority:
    """An authority of its own, and the folder of its files; `close` deletes them.

    The keys are PKCS#8, the only kind that Netty reads. ``tls.properties`` is a file for
    ``-Dtls.config.file`` of Java clients: with it, they check the cluster's certificate and show
    their own.
    """

    def __init__(self, hosts: Iterable[str]) -> None:
        try:
            import trustme
        except ImportError:
            raise ConfigError(
                "TLS without certificates of your own needs an extra that is not installed:"
                " pip install 'fakemq[tls]'; or name your certificates in tls_config"
            ) from None
        try:
            self.directory = tempfile.mkdtemp(prefix="fakemq-tls-")
        except OSError as error:
            raise _unwritable(error) from error
        # At the exit of the interpreter, too: a program may forget to stop its cluster.
        self._delete = weakref.finalize(self, _delete, self.directory, os.getpid())
        try:
            self._make(trustme.CA(organization_name="fakemq"), hosts)
        except OSError as error:
            self.close()
            raise _unwritable(error) from error

    def _make(self, authority: trustme.CA, hosts: Iterable[str]) -> None:
        self.ca_path = self._write("ca.pem", authority.cert_pem.bytes())
        server = authority.issue_cert(*(host for host in dict.fromkeys(hosts) if _is_name(host)))
        client = authority.issue_cert("client.fakemq")
        self.server_cert_path, self.server_key_path = self._pair("server", server)
        self.client_cert_path, self.client_key_path = self._pair("client", client)
        self.properties_path = self._write("tls.properties", self._properties().encode())

    def _pair(self, name: str, issued: trustme.LeafCert) -> tuple[str, str]:
        text = pkcs8(issued.private_key_pem.bytes())
        chain = b"".join(blob.bytes() for blob in issued.cert_chain_pems)
        return self._write(f"{name}.pem", chain), self._write(f"{name}.key", text)

    def _write(self, name: str, content: bytes) -> str:
        path = os.path.join(self.directory, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def _properties(self) -> str:
        lines = {
            "tls.test.mode.enable": "false",
            "tls.server.certPath": self.server_cert_path,
            "tls.server.keyPath": self.server_key_path,
            "tls.server.trustCertPath": self.ca_path,
            "tls.server.authClient": "true",
            "tls.server.need.client.auth": "optional",
            "tls.client.certPath": self.client_cert_path,
            "tls.client.keyPath": self.client_key_path,
            "tls.client.trustCertPath": self.ca_path,
            "tls.client.authServer": "true",
        }
        return "".join(f"{key}={value}\n" for key, value in lines.items())

    def close(self) -> None:
        """Delete the files."""
        self._delete()


def pkcs8(key: bytes) -> bytes:
    """Return a private key in PEM as PKCS#8 in PEM."""
    from cryptography.hazmat.primitives import serialization

    return serialization.load_pem_private_key(key, None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _unwritable(error: OSError) -> FakemqError:
    return FakemqError(f"cannot make a folder for TLS certificates: {error.strerror}")


def _delete(directory: str, pid: int) -> None:
    if os.getpid() == pid:  # not at the exit of a forked child
        shutil.rmtree(directory, ignore_errors=True)


def _is_name(host: str) -> bool:
    """Return whether a certificate can be for this host; ``my_host``, for example, is no name."""
    import ipaddress

    import idna

    try:
        ipaddress.ip_address(host)
    except ValueError:
        try:
            idna.encode(host, uts46=True)
        except UnicodeError:
            return False
    return True
