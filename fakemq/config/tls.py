"""The keys of ``tls.properties``, with which 4.9.7 configures certificates and trust.

Source: remoting/netty/TlsSystemConfig.java, TlsHelper.java#extractTlsConfigFromFile (4.9.7)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from fakemq.config.files import Warn, complaining, file_entries, warn_user
from fakemq.config.model import text_of
from fakemq.errors import ConfigError, did_you_mean

ClientAuth: TypeAlias = Literal["none", "optional", "require"]


class TlsSettings(msgspec.Struct, kw_only=True):
    """The keys of ``tls.properties``, with Java's defaults. Paths are empty if they are not set."""

    test_mode: bool = True
    """Servers have a throw-away certificate, and clients accept every certificate."""
    server_key_path: str = ""
    server_key_password: str = ""
    server_cert_path: str = ""
    server_need_client_auth: ClientAuth = "none"
    server_auth_client: bool = False
    """Whether clients' certificates are checked."""
    server_trust_cert_path: str = ""
    client_key_path: str = ""
    client_key_password: str = ""
    client_cert_path: str = ""
    client_auth_server: bool = False
    """Whether servers' certificates are checked."""
    client_trust_cert_path: str = ""

    def __repr__(self) -> str:  # without passwords: reports of tests show arguments
        return f"TlsSettings(test_mode={self.test_mode})"


_TEST_MODE: Final = "tls.test.mode.enable"
_CLIENT_AUTH: Final = "tls.server.need.client.auth"
_KEYS: Final = {
    _TEST_MODE: "test_mode",
    "tls.server.keyPath": "server_key_path",
    "tls.server.keyPassword": "server_key_password",
    "tls.server.certPath": "server_cert_path",
    _CLIENT_AUTH: "server_need_client_auth",
    "tls.server.authClient": "server_auth_client",
    "tls.server.trustCertPath": "server_trust_cert_path",
    "tls.client.keyPath": "client_key_path",
    "tls.client.keyPassword": "client_key_password",
    "tls.client.certPath": "client_cert_path",
    "tls.client.authServer": "client_auth_server",
    "tls.client.trustCertPath": "client_trust_cert_path",
}
"""Java's key → our attribute."""

_OF_CLIENTS: Final = {key for key in _KEYS if key.startswith("tls.client.")}
"""Those that count for connections that nodes open, in each mode of servers."""

_ELSEWHERE: Final = {
    "tls.server.mode": "it is the option tls",
    "tls.enable": "it is useTLS in a broker's config",
    "tls.config.file": "it is the option tls_config",
}
"""Java's system properties that its file does not have → where they are given here."""


def read_tls(
    source: str | Mapping[str, object],
    *,
    mode: str = "permissive",
    strict: bool = False,
    warn: Warn = warn_user,
) -> TlsSettings:
    """Return the settings of a file, or a mapping of the same keys, for servers in this mode.

    What Java ignores silently is a warning, and an error with ``strict``: unknown keys, and those
    without effect. Raise ConfigError for a file that cannot be read, an invalid value, and servers
    that speak TLS without a certificate.
    """
    with complaining(warn, strict=strict) as complain:
        return _read(source, mode, complain)


def _read(source: str | Mapping[str, object], mode: str, complain: Warn) -> TlsSettings:
    name = source if isinstance(source, str) else "tls_config"
    settings, given = TlsSettings(), set[str]()
    for where, key, text in _entries(source, name):
        if key not in _KEYS:
            hint = _ELSEWHERE.get(key) or f"RocketMQ 4.9.7 does not have it{_meant(key)}"
            complain(f"{where}: {key} has no effect: {hint}")
            continue
        setattr(settings, _KEYS[key], _parsed(where, key, text))
        given.add(key)
    if no_effect := _no_effect(settings, given, mode):
        complain(f"{name}: {no_effect}")
    if mode != "disabled" and not settings.test_mode:
        _require_certificate(settings, name)
    return settings


def _entries(source: str | Mapping[str, object], name: str) -> Iterable[tuple[str, str, str]]:
    if isinstance(source, str):
        return file_entries(source)
    return [(name, str(key), text_of(value)) for key, value in source.items()]


def _meant(key: str) -> str:
    return did_you_mean(key, _KEYS)


def _parsed(where: str, key: str, text: str) -> object:
    if key == _CLIENT_AUTH:
        mode = text.strip().lower()
        if mode not in ("", "none", "optional", "require"):
            raise ConfigError(f"{where}: {key}={text}: expected none, optional or require")
        return mode or "none"
    if isinstance(getattr(TlsSettings(), _KEYS[key]), bool):
        if text.lower() not in ("true", "false"):
            raise ConfigError(f"{where}: {key}={text}: expected true or false")
        return text.lower() == "true"
    return text


def _no_effect(settings: TlsSettings, given: set[str], mode: str) -> str:
    """Return which of the given keys have no effect, and why; "" if all have one."""
    for_clients = _OF_CLIENTS | {_TEST_MODE} if given & _OF_CLIENTS else set()
    if settings.test_mode and (idle := given - {_TEST_MODE}):
        why = f"while {_TEST_MODE} is true, which is the default"
    elif mode == "disabled" and (idle := given - for_clients):
        why = "with tls=disabled: servers take no TLS then"
    elif settings.server_need_client_auth == "require" and not settings.server_auth_client:
        return (
            f"{_CLIENT_AUTH}=require without tls.server.authClient=true: RocketMQ then takes any"
            " certificate of a client, and fakemq asks for none"
        )
    else:
        return ""
    return f"{', '.join(key for key in _KEYS if key in idle)}: no effect {why}"


def _require_certificate(settings: TlsSettings, name: str) -> None:
    """Raise ConfigError if a server has no certificate or no key for it.

    Java's nodes do not start either: ``keyCertChain required for servers``.
    Source: remoting/netty/TlsHelper.java#buildSslContext (4.9.7)
    """
    missing = [
        key
        for key in ("tls.server.certPath", "tls.server.keyPath")
        if not getattr(settings, _KEYS[key])
    ]
    if missing:
        raise ConfigError(
            f"{name}: {_TEST_MODE}=false, but no {' and no '.join(missing)}: expected the paths of"
            " the servers' certificate and of its private key, both PEM; or leave"
            f" {_TEST_MODE} out for a throw-away certificate, or set tls=disabled"
        )
