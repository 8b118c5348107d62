"""The keys of ``tls.properties``, with which 4.9.7 configures certificates and trust.

Source: remoting/netty/TlsSystemConfig.java, TlsHelper.java#extractTlsConfigFromFile (4.9.7)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from fakemq.config.files import Warn, file_entries, warn_user
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

_ELSEWHERE: Final = {
    "tls.server.mode": "it is the option tls",
    "tls.enable": "it is useTLS in a broker's config",
    "tls.config.file": "it is the option tls_config",
}
"""Java's system properties that its file does not have → where they are given here."""


def read_tls(
    source: str | Mapping[str, object], *, strict: bool = False, warn: Warn = warn_user
) -> TlsSettings:
    """Return the settings of a file, or a mapping of the same keys.

    What Java ignores silently is a warning: unknown keys, which are errors with ``strict``, and
    certificates in test mode. Raise ConfigError for a file that cannot be read, and an invalid
    value.
    """
    settings, given = TlsSettings(), set[str]()
    for where, key, text in _entries(source):
        if key not in _KEYS:
            hint = _ELSEWHERE.get(key) or f"RocketMQ 4.9.7 does not have it{_meant(key)}"
            message = f"{where}: {key} has no effect: {hint}"
            if strict:
                raise ConfigError(message)
            warn(message)
            continue
        setattr(settings, _KEYS[key], _parsed(where, key, text))
        given.add(key)
    _warn_of_no_effect(settings, given, warn)
    return settings


def _entries(source: str | Mapping[str, object]) -> Iterable[tuple[str, str, str]]:
    if isinstance(source, str):
        return file_entries(source)
    return [("tls_config", str(key), text_of(value)) for key, value in source.items()]


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


def _warn_of_no_effect(settings: TlsSettings, given: set[str], warn: Warn) -> None:
    if settings.test_mode and given - {_TEST_MODE}:
        names = ", ".join(key for key in _KEYS if key in given - {_TEST_MODE})
        warn(f"{names}: no effect while {_TEST_MODE} is true, which is the default")
    elif settings.server_need_client_auth == "require" and not settings.server_auth_client:
        warn(
            f"{_CLIENT_AUTH}=require without tls.server.authClient=true: RocketMQ then takes any"
            " certificate of a client, and fakemq asks for none"
        )
