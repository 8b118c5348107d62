"""Both clients take the options that `ClientConfig` declares."""

from __future__ import annotations

from fakemq.client.options import ClientConfig, ClientOptions


def test_clients_take_all_options_of_the_config() -> None:
    assert list(ClientOptions.__annotations__) == list(ClientConfig.__struct_fields__)


def test_secrets_are_not_shown() -> None:
    config = ClientConfig(
        access_key="me",
        secret_key="hidden1",
        security_token="hidden2",
        tls=True,
        tls_cert_file="c.pem",
        tls_key_file="c.key",
        tls_key_password="hidden3",
    )
    assert "tls_key_file='c.key'" in repr(config)
    assert "hidden" not in repr(config) + repr(config.credentials)
