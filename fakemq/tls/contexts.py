"""What both ends of TLS connections need before the first one: certificates, and trust."""

from __future__ import annotations

import ssl
from typing import NamedTuple

from fakemq.errors import ConfigError
from fakemq.tls.stream import TlsStream, explained


class KeyPair(NamedTuple):
    """The files of a certificate, with its chain, and of its private key, both PEM."""

    cert_path: str
    key_path: str
    password: str = ""

    def __repr__(self) -> str:  # without the password: reports of tests show arguments
        return f"KeyPair({self.cert_path!r}, {self.key_path!r})"


def server_context(own: KeyPair, *, client_auth: str, trust_path: str) -> ssl.SSLContext:
    """Return the context of a server.

    ``client_auth`` is ``none``, ``optional`` or ``require``; a client's certificate is checked
    against those of ``trust_path``, or those of the system if that is empty. Raise ConfigError for
    a file that cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    _load(context, own)
    if client_auth != "none":
        required = client_auth == "require"
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
        _trust(context, trust_path, ssl.Purpose.CLIENT_AUTH)
    return context


class ClientTls:
    """How a client connects by TLS; one for all its connections.

    Without ``checks_server`` every certificate will do. With it, it must come from an authority of
    ``trust_path``, or of the system if that is empty, and with ``checks_host`` be one for the host.
    Raise ConfigError for a file that cannot be used.
    """

    def __init__(
        self,
        *,
        own: KeyPair | None = None,
        checks_server: bool = False,
        trust_path: str = "",
        checks_host: bool = False,
    ) -> None:
        self.context = context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.check_hostname = checks_server and checks_host
        if checks_server:
            _trust(context, trust_path, ssl.Purpose.SERVER_AUTH)
        else:
            context.verify_mode = ssl.CERT_NONE
        if own is not None:
            _load(context, own)

    def stream(self, host: str) -> TlsStream:
        """Return the client's end of a new connection to a host."""
        return TlsStream(self.context, server_side=False, host=host or None)


def _load(context: ssl.SSLContext, own: KeyPair) -> None:
    for path in (own.cert_path, own.key_path):
        _require_readable(path)
    try:
        # A password even if there is none: OpenSSL would ask for it at the terminal.
        context.load_cert_chain(own.cert_path, own.key_path, lambda: own.password)
    except (OSError, ValueError) as error:  # ValueError: a password of over 1,024 characters
        if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
            why = "the key belongs to another certificate"
        else:
            why = "expected PEM, and the key's password if it has one"
        raise ConfigError(
            f"cannot use the certificate {own.cert_path} with the key {own.key_path}: {why}"
        ) from error


def _trust(context: ssl.SSLContext, path: str, purpose: ssl.Purpose) -> None:
    if not path:
        context.load_default_certs(purpose)
        return
    _require_readable(path)
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise ConfigError(f"{path}: no trusted certificates: {explained(error)}") from error


def _require_readable(path: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{path}: cannot read this file for TLS: {reason}") from None
