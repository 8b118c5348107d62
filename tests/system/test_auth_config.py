"""What a user without rights may change of a broker's access control by its config: code 25."""

from __future__ import annotations

import json

import pytest

import fakemq
from conformance.targets.accounts import ADMIN, AUTH
from fakemq.broker.v5.broker import Broker5
from fakemq.client import Client
from fakemq.config.v5.model import config5
from fakemq.core.cluster import ClusterCore
from fakemq.errors import ConfigError
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from tests.support.users import RULES, SECRET

EVIL = json.dumps({"username": "evil", "password": "x"})


def names(core: ClusterCore) -> list[str | None]:
    broker = core.brokers["broker-a-0"]
    assert isinstance(broker, Broker5)
    assert broker.users is not None
    return [user.username for user in broker.users.all_users(None)]


def set_config(mq: fakemq.Cluster, user: str, text: str) -> None:
    """Send code 25 with the key of a user, and start the broker again."""
    with Client(mq.namesrv_addr, access_key=user, secret_key=SECRET) as client:
        request = RemotingCommand(RequestCode.UPDATE_BROKER_CONFIG, body=text.encode())
        client.invoke(mq.brokers[0].addr, request)
    broker = mq.broker("broker-a")
    broker.stop()
    broker.restart()


@pytest.mark.parametrize(
    "text",
    [
        f"initAuthenticationUser={EVIL}",
        "authenticationEnabled=false\nauthorizationEnabled=false",
        "authenticationWhitelist=3005\nauthorizationWhitelist=3005",
    ],
)
def test_user_gains_nothing_by_the_config(text: str) -> None:
    with fakemq.Cluster(reference="5.5.0", acl=RULES, clock="frozen") as mq:
        set_config(mq, "shop", text)
        assert mq.inspect(names) == ["billing", "boss", "shop"]
        config = config5(mq.inspect(lambda core: core.brokers["broker-a-0"].config.copy()))
    assert config.authentication_enabled
    assert not config.authentication_whitelist


def test_key_of_the_file_counts_from_the_next_start_on() -> None:
    with fakemq.Cluster(reference="5.5.0", config=AUTH, clock="frozen") as mq:
        set_config(mq, ADMIN, f"initAuthenticationUser={EVIL}")
        assert mq.inspect(names) == [ADMIN, "evil"]


def test_accounts_and_users_exclude_each_other() -> None:
    account = {"accessKey": "billing1", "secretKey": SECRET}
    with (
        pytest.raises(ConfigError, match="exclude each other"),
        fakemq.Cluster(reference="5.3.2", acl={"accounts": [account]}, config=AUTH),
    ):
        pass


def test_migration_names_its_own_key() -> None:
    config = AUTH | {"migrateAuthFromV1Enabled": "true"}
    with (
        pytest.raises(ConfigError, match="migrateAuthFromV1Enabled=true needs rocketmqHome=DIR"),
        fakemq.Cluster(reference="5.5.0", config=config),
    ):
        pass
