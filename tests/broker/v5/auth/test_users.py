"""The tables of users and rights, where no recording shows them; their file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import fakemq
from conformance.targets.accounts import AUTH, LOCAL_USERS
from fakemq.broker.v5.auth.administration import changed
from fakemq.broker.v5.auth.errors import AuthError, NothingKeptError
from fakemq.broker.v5.auth.model import MOST_PARTS
from fakemq.broker.v5.auth.users import Users, acl_of
from fakemq.clock.slices import A_STEP, Steps, finished
from fakemq.dispatch.answers import Thrown
from fakemq.errors import ConfigError
from fakemq.protocol.v5.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from tests.support.calls import calls_of
from tests.support.users import users_of


def rights(name: str, resource: str = "Topic:orders") -> AclInfo:
    entry = PolicyEntryInfo(resource=resource, actions=["Pub"], decision="Allow")
    return AclInfo(subject=f"User:{name}", policies=[PolicyInfo(entries=[entry])])


def kept() -> Users:
    return Users(keeps_users=True, keeps_rights=True)


def test_file_has_what_the_tables_have() -> None:
    users = kept()
    users.create_user(UserInfo(username="shop", password="12345678"))
    users.grant(acl_of(rights("shop"), None))
    other = kept()
    other.load(users.persisted())
    assert other.persisted() == users.persisted()
    assert other.rights_of("shop") is not None


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
            lambda core: finished(
                changed(
                    users_of(core),
                    lambda: users_of(core).create_user(UserInfo(username="shop", password="x")),
                )
            )
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


def many(count: int, *, first: int = 0) -> AclInfo:
    entries: list[PolicyEntryInfo | None] = [
        PolicyEntryInfo(resource=f"Topic:t{first + number}", actions=["Pub"], decision="Allow")
        for number in range(count)
    ]
    return AclInfo(subject="User:shop", policies=[PolicyInfo(entries=entries)])


def test_rights_of_a_subject_are_limited() -> None:
    users = kept()
    users.create_user(UserInfo(username="shop", password="12345678"))
    users.grant(acl_of(many(MOST_PARTS // 2), None))
    users.grant(acl_of(many(MOST_PARTS // 2), None))  # the same resources again
    for more in (many(1, first=MOST_PARTS), many(MOST_PARTS)):
        with pytest.raises(AuthError, match=r"more than 10000 entries, actions and addresses"):
            users.grant(acl_of(more, None))
    entry = PolicyEntryInfo(
        resource="*", actions=["Pub"], decision="Allow", source_ips=["::1"] * MOST_PARTS
    )
    with pytest.raises(AuthError, match="more than 10000"):
        acl_of(AclInfo(subject="User:shop", policies=[PolicyInfo(entries=[entry])]), None)


def test_granting_again_costs_as_much_as_the_first_time() -> None:
    users = kept()
    users.create_user(UserInfo(username="shop", password="12345678"))
    counts = []
    for _ in range(2):
        grant = partial(users.grant, acl_of(many(MOST_PARTS // 2), None))
        counts.append(calls_of(grant))
    assert max(counts) < 20 * MOST_PARTS


@pytest.mark.parametrize(
    ("field", "error"),
    [
        ('"policies":[null]', "PolicyInfo.getPolicyType\\(\\)"),
        ('"policies":[""]', "PolicyInfo.getPolicyType\\(\\)"),
        ('"policies":[{"entries":[null]}]', "PolicyEntryInfo.getResource\\(\\)"),
        (
            '"policies":[{"entries":[{"resource":"*","actions":[null],"decision":"Allow"}]}]',
            "The actions is empty.",
        ),
        (
            '"policies":[{"entries":[{"resource":"*","actions":["Pub"],"sourceIps":[null]}]}]',
            "The source ip is empty.",
        ),
    ],
)
def test_null_in_a_list_is_refused(field: str, error: str) -> None:
    """Left out, such a null made an entry hold from every address."""
    info = AclInfo.decode(f'{{"subject":"User:shop",{field}}}'.encode())
    with pytest.raises((AuthError, Thrown), match=error):
        acl_of(info, None)


class SlowFile:
    """A file of users that a test lets be written."""

    def __init__(self) -> None:
        self.written = 0

    def persist(self) -> Steps[None]:
        yield
        self.written += 1


def test_answer_waits_for_the_file_in_steps() -> None:
    file = SlowFile()
    users = Users(keeps_users=True, persist=file.persist)
    work = changed(users, lambda: users.create_user(UserInfo(username="shop", password="12345678")))
    next(work)
    assert file.written == 0
    assert finished(work).code == 0
    assert file.written == 1
    # Without a place for rights the user is deleted, and Java answers with an error.
    assert finished(changed(users, lambda: users.delete_user("shop"))).code == 1
    assert file.written == 2
    assert finished(changed(users, lambda: users.delete_user("shop"))).code == 1


def test_tables_are_written_in_steps() -> None:
    users = kept()
    users.create_user(UserInfo(username="shop", password="12345678"))
    users.grant(acl_of(many(MOST_PARTS // 2), None))
    for number in range(2 * A_STEP):
        users.create_user(UserInfo(username=f"u{number}", password="12345678"))
    work = users.persisted_in_steps()
    for _ in range(3):
        next(work)
        users.delete_user("u999")
    assert len(finished(work).users) == 2 * A_STEP
