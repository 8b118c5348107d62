"""Contexts refuse files that cannot be used, and say which."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemq.errors import ConfigError
from fakemq.tls.authority import Authority
from fakemq.tls.contexts import ClientTls, KeyPair, server_context
from tests.support.certificates import Certificates


@pytest.fixture
def authority(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


def refusal(cert: str, key: str, password: str = "", trust: str = "") -> str:
    with pytest.raises(ConfigError) as raised:
        server_context(KeyPair(cert, key, password), client_auth="require", trust_path=trust)
    return str(raised.value)


def test_missing_file_is_named(authority: Certificates, tmp_path: Path) -> None:
    cert, key = authority.pair("server")
    missing = str(tmp_path / "missing.pem")
    wanted = f"{missing}: cannot read this file for TLS: No such file or directory"
    assert refusal(missing, key) == refusal(cert, missing) == wanted
    assert refusal(cert, key, trust=missing) == wanted


def test_key_of_another_certificate_is_refused(authority: Certificates) -> None:
    (cert, _), (_, key) = authority.pair("one"), authority.pair("two")
    assert "the key belongs to another certificate" in refusal(cert, key)


def test_file_that_is_no_pem_is_refused(authority: Certificates, tmp_path: Path) -> None:
    cert, key = authority.pair("server")
    text = tmp_path / "text"
    text.write_text("certificates, perhaps")
    assert "expected PEM" in refusal(str(text), key)
    assert f"{text}: no trusted certificates" in refusal(cert, key, trust=str(text))


def test_key_with_a_password_is_read_and_a_wrong_one_refused(
    authority: Certificates, tmp_path: Path
) -> None:
    from cryptography.hazmat.primitives import serialization

    cert, key = authority.pair("server")
    plain = serialization.load_pem_private_key(Path(key).read_bytes(), None)
    locked = tmp_path / "locked.key"
    locked.write_bytes(
        plain.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"1234"),
        )
    )
    server_context(KeyPair(cert, str(locked), "1234"), client_auth="none", trust_path="")
    for wrong in ("", "4321", "x" * 5_000):
        assert "the key's password" in refusal(cert, str(locked), wrong)


def test_authority_makes_files_for_both_sides_and_deletes_them() -> None:
    authority = Authority(["127.0.0.1", "my_host", "::1", "127.0.0.1"])
    folder = Path(authority.directory)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert b"BEGIN PRIVATE KEY" in Path(authority.client_key_path).read_bytes()
    ClientTls(
        own=KeyPair(authority.client_cert_path, authority.client_key_path),
        checks_server=True,
        trust_path=authority.ca_path,
    )
    assert f"tls.client.trustCertPath={authority.ca_path}" in (
        Path(authority.properties_path).read_text().splitlines()
    )
    authority.close()
    assert not folder.exists()


def test_password_is_not_shown() -> None:
    assert repr(KeyPair("c.pem", "c.key", "hidden")) == "KeyPair('c.pem', 'c.key')"
