"""The keys of tls.properties, and the options that concern TLS."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from fakemq.config.spec import TlsSpec, broker_spec, cluster_spec, tls_spec
from fakemq.config.tls import TlsSettings, read_tls
from fakemq.errors import ConfigError, ConfigWarning

CERTIFICATE = {
    "tls.test.mode.enable": "false",
    "tls.server.keyPath": "/c.key",
    "tls.server.certPath": "/c.pem",
}


def read(
    source: str | dict[str, object], mode: str = "permissive"
) -> tuple[TlsSettings, list[str]]:
    warnings: list[str] = []
    return read_tls(source, mode=mode, warn=warnings.append), warnings


def test_file_has_the_keys_of_java(tmp_path: Path) -> None:
    path = tmp_path / "tls.properties"
    path.write_text(
        "tls.test.mode.enable=false\ntls.server.certPath=/c.pem\ntls.server.keyPath=/c.key\n"
        "tls.server.keyPassword=1234\ntls.server.need.client.auth=REQUIRE\n"
        "tls.server.authClient=true\ntls.server.trustCertPath=/ca.pem\n"
        "tls.client.authServer=True\ntls.client.certPath=/d.pem\ntls.client.keyPath=/d.key\n"
        "tls.client.keyPassword=4321\ntls.client.trustCertPath=/ca.pem\n"
    )
    assert read(str(path)) == (
        TlsSettings(
            test_mode=False,
            server_cert_path="/c.pem",
            server_key_path="/c.key",
            server_key_password="1234",
            server_need_client_auth="require",
            server_auth_client=True,
            server_trust_cert_path="/ca.pem",
            client_auth_server=True,
            client_cert_path="/d.pem",
            client_key_path="/d.key",
            client_key_password="4321",
            client_trust_cert_path="/ca.pem",
        ),
        [],
    )


def test_mapping_may_have_python_values() -> None:
    settings, _ = read(
        CERTIFICATE | {"tls.test.mode.enable": False, "tls.server.certPath": Path("/c.pem")}
    )
    assert (settings.test_mode, settings.server_cert_path) == (False, "/c.pem")


def test_keys_without_effect_are_warnings() -> None:
    _, warnings = read({"tls.serverkeyPath": "/c", "tls.enable": "true"})
    unknown, elsewhere = warnings
    assert unknown == (
        "tls_config: tls.serverkeyPath has no effect: RocketMQ 4.9.7 does not have it; did you mean"
        " tls.server.keyPath?"
    )
    assert elsewhere == "tls_config: tls.enable has no effect: it is useTLS in a broker's config"
    _, warnings = read({"tls.server.certPath": "/c"})
    (warning,) = warnings
    assert warning == (
        "tls_config: tls.server.certPath: no effect while tls.test.mode.enable is true, which is"
        " the default"
    )
    _, warnings = read({**CERTIFICATE, "tls.server.need.client.auth": "require"})
    assert "fakemq asks for none" in warnings[0]


def test_keys_of_servers_without_tls_are_one_warning() -> None:
    of_client = {"tls.client.certPath": "/d.pem"}
    text = "no effect with tls=disabled: servers take no TLS then"
    for keys, expected in (
        (CERTIFICATE, [f"tls_config: {', '.join(CERTIFICATE)}: {text}"]),
        (
            CERTIFICATE | of_client,
            [f"tls_config: tls.server.keyPath, tls.server.certPath: {text}"],
        ),
        ({"tls.test.mode.enable": "false"} | of_client, []),
        ({}, []),
    ):
        assert read({**keys}, "disabled")[1] == expected


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "no tls.server.certPath and no tls.server.keyPath: expected the paths of"),
        ({"tls.server.certPath": "/c.pem"}, "no tls.server.keyPath: expected"),
        ({"tls.client.certPath": "/d.pem"}, "no tls.server.certPath and no"),
    ],
)
def test_servers_without_a_certificate_are_refused(given: dict[str, object], missing: str) -> None:
    with pytest.raises(ConfigError, match=f"tls_config: tls.test.mode.enable=false, but {missing}"):
        read({"tls.test.mode.enable": "false"} | given)


def test_key_without_effect_is_an_error_when_strict() -> None:
    with pytest.raises(ConfigError, match="no effect with tls=disabled"):
        cluster_spec(tls="disabled", tls_config={**CERTIFICATE}, strict=True)
    with pytest.raises(ConfigError, match="it is useTLS in a broker's config"):
        cluster_spec(tls_config={"tls.enable": "true"}, strict=True)
    with pytest.warns(ConfigWarning, match="it is useTLS in a broker"):
        cluster_spec(tls_config={"tls.enable": "true"})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tls.test.mode.enable", "no", "expected true or false"),
        ("tls.server.need.client.auth", "maybe", "expected none, optional or require"),
    ],
)
def test_invalid_value_is_refused(key: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}={value}: {message}"):
        read({key: value})


def test_missing_file_is_refused() -> None:
    with pytest.raises(ConfigError, match="/no/such/file: cannot read this config"):
        read("/no/such/file")


def test_mode_is_permissive_unless_an_option_says_more() -> None:
    assert cluster_spec().tls == TlsSpec(mode="permissive", announced=False)
    assert tls_spec("permissive").announced
    given = tls_spec(None, {"tls.test.mode.enable": "true"})
    assert (given.announced, given.settings) == (True, TlsSettings())
    with pytest.raises(ConfigError, match="expected disabled or permissive or enforcing"):
        cluster_spec(tls="on")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tls", "config", "uses"),
    [
        ("permissive", {}, False),
        ("enforcing", {}, True),
        ("enforcing", {"useTLS": "false"}, False),
        ("disabled", {"useTLS": "true"}, True),
    ],
)
def test_brokers_connect_by_tls_where_it_is_enforced(
    tls: Literal["disabled", "permissive", "enforcing"], config: dict[str, object], uses: bool
) -> None:
    (whole,) = cluster_spec(tls=tls, config=config).broker_configs
    (lone,) = broker_spec(config, namesrv_addr="127.0.0.1:9876", tls=tls_spec(tls)).broker_configs
    assert whole.use_tls is lone.use_tls is uses


def test_value_none_is_as_no_value() -> None:
    settings, warnings = read(CERTIFICATE | {"tls.server.keyPassword": None})
    assert (settings.server_key_password, warnings) == ("", [])


def test_passwords_are_not_shown() -> None:
    spec = tls_spec(None, CERTIFICATE | {"tls.server.keyPassword": "hidden"})
    assert "hidden" not in repr(spec)
