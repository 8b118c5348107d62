"""Options with keys: which belong together, and that no error shows a secret."""

from __future__ import annotations

import pytest

import fakemq
from fakemq.client import MQClientError, Producer
from fakemq.client.options import ClientConfig
from fakemq.errors import ConfigError
from fakemq.protocol.signature import Credentials


def test_keys_become_credentials() -> None:
    assert ClientConfig().credentials is None
    config = ClientConfig(access_key="useruser", secret_key="12345678", security_token="t")
    assert config.credentials == Credentials("useruser", "12345678", "t")


@pytest.mark.parametrize(
    ("access_key", "secret_key", "security_token", "message"),
    [
        ("useruser", "", "", "access_key and secret_key belong together"),
        ("", "12345678", "", "access_key and secret_key belong together"),
        ("", "", "t", "security_token needs access_key and secret_key"),
    ],
)
def test_keys_belong_together(
    access_key: str, secret_key: str, security_token: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Producer(
            "127.0.0.1:1",
            group="g",
            access_key=access_key,
            secret_key=secret_key,
            security_token=security_token,
        )


def test_shared_client_has_one_account_and_shows_no_secret() -> None:
    with (
        fakemq.Cluster() as mq,
        Producer(
            mq.namesrv_addr,
            group="a",
            instance_name="shared",
            access_key="useruser",
            secret_key="12345678",
        ),
        pytest.raises(MQClientError, match="runs with another secret_key") as caught,
    ):
        Producer(
            mq.namesrv_addr,
            group="b",
            instance_name="shared",
            access_key="useruser",
            secret_key="87654321",
        ).start()
    assert "87654321" not in str(caught.value)
