"""The tables of users and rights, where no recording shows them; their file."""

from __future__ import annotations

from pathlib import Path

import pytest

import fakemq
from conformance.targets.accounts import AUTH, LOCAL_USERS
from fakemq.broker.v5.auth.errors import AuthError, NothingKeptError
from fakemq.broker.v5.auth.users import Users, acl_of
from fakemq.broker.v5.broker import Broker5
from fakemq.core.cluster import ClusterCore
from fakemq.errors import ConfigError
from fakemq.protocol.v5.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo


def rights(name: str, resource: str = "Topic:orders") -> AclInfo:
    entry = PolicyEntryInfo(resource=resource, actions=["Pub"], decision="Allow")
    return AclInfo(subject=f"User:{name}", policies=[PolicyInfo(entries=[entry])])


def users_of(core: ClusterCore) -> Users:
    """Return the users of the only broker."""
    broker = core.brokers["broker-a-0"]
    assert isinstance(broker, Broker5)
    assert broker.users is not None
    return broker.users


def kept() -> Users:
    return Users(keeps_users=True, keeps_rights=True)


def test_file_has_what_the_tables_have() -> None:
    users = kept()
    users.create_user(UserInfo(username="shop", password="12345678"))
    users.grant(acl_of(rights("shop"), None))
    other = kept()
    other.load(users.persisted())
    assert other.persisted() == users.persisted()
    assert other.rights_of("shop") == users.rights_of("shop")


def test_rights_end_with_their_user() -> None:
    users = kept()
    users.create_user(UserInfo(username="shop", password="12345678"))
    users.grant(acl_of(rights("shop"), None))
    users.delete_user("shop")
    assert users.rights_of("shop") is None
    assert users.persisted().acls == []


def test_tables_without_a_provider_keep_nothing() -> None:
    with pytest.raises(NothingKeptError):
        Users().create_user(UserInfo(username="shop", password="12345678"))
    with pytest.raises(AuthError, match="username can not be blank"):
        Users().user(" ")


def test_password_is_in_no_text_of_a_user() -> None:
    assert "12345678" not in repr(UserInfo(username="shop", password="12345678"))


def test_users_outlive_a_restart(tmp_path: Path) -> None:
    def started() -> fakemq.Cluster:
        store = str(tmp_path)
        return fakemq.Cluster(reference="5.5.0", store=store, clock="frozen", config=AUTH)

    with started() as mq:
        mq.inspect(
            lambda core: users_of(core).create_user(UserInfo(username="shop", password="12345678"))
        )
    with started() as mq:
        names = mq.inspect(lambda core: [one.username for one in users_of(core).all_users(None)])
    assert names == ["adminadmin", "shop"]


def test_reset_returns_to_the_first_users() -> None:
    with fakemq.Cluster(reference="5.5.0", clock="frozen", config=AUTH) as mq:
        mq.inspect(lambda core: users_of(core).delete_user("adminadmin"))
        mq.reset()
        users = mq.inspect(lambda core: users_of(core).persisted().users)
    assert [(one.username, one.user_type) for one in users] == [("adminadmin", "Super")]


@pytest.mark.parametrize("key", ["initAuthenticationUser", "innerClientAuthenticationCredentials"])
@pytest.mark.parametrize("text", ["{7", "[7]", '{"username":"a","accessKey":"a"}'])
def test_wrong_first_user_is_an_error_without_its_text(key: str, text: str) -> None:
    config = LOCAL_USERS | {key: text}
    with pytest.raises(ConfigError) as raised, fakemq.Cluster(reference="5.5.0", config=config):
        pass
    assert text not in str(raised.value)


def test_first_user_needs_a_place_that_keeps_it() -> None:
    config = {"initAuthenticationUser": AUTH["initAuthenticationUser"]}
    with (
        pytest.raises(ConfigError, match="authenticationMetadataProvider is not configured"),
        fakemq.Cluster(reference="5.5.0", config=config),
    ):
        pass
