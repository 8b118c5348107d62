"""Accounts of 4.9.7 as users of 5.5.0, as AuthMigrator makes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fakemq.broker.acl.accounts import PlainAccessConfig
from fakemq.broker.acl.errors import AclError
from fakemq.broker.acl.homes import FileHome, MemoryHome
from fakemq.broker.v5.auth.migration import migrated, users_in

ACCOUNT = {
    "accessKey": "billing1",
    "secretKey": "12345678",
    "defaultTopicPerm": "DENY",
    "defaultGroupPerm": "SUB",
    "topicPerms": ["orders=PUB|SUB", "odd=PUBB", "nothing", "shut = DENY"],
    "groupPerms": ["billing=SUB"],
}


def test_permissions_become_policies() -> None:
    user, acl = migrated(PlainAccessConfig.of(ACCOUNT))
    assert (user.username, user.user_type) == ("billing1", "Normal")
    assert acl is not None
    found = [
        (policy.kind, one.resource.key, one.actions, one.decision)
        for policy in acl.policies
        for one in policy.entries
    ]
    assert found == [
        ("Custom", "Topic:orders", ["Pub", "Sub"], "Allow"),
        ("Custom", "Topic:odd", ["All"], "Allow"),
        ("Custom", "Topic:shut", ["All"], "Deny"),
        ("Custom", "Group:billing", ["Sub"], "Allow"),
        ("Default", "Topic:*", ["All"], "Deny"),
        ("Default", "Group:*", ["Sub"], "Allow"),
    ]


def test_admin_becomes_a_super_user() -> None:
    admin = {"accessKey": "adminadmin", "secretKey": "12345678", "admin": True}
    user, acl = migrated(PlainAccessConfig.of(admin))
    assert user.user_type == "Super"
    assert acl is None


@pytest.mark.parametrize(
    "content",
    [
        {"users": {}, "acls": [{"subject": "User:a", "policies": []}]},
        {"acls": [{"subject": "User:a", "policies": [{"entries": []}]}]},
        {"users": "a"},
        {"users": [{"username": 7}]},
        {
            "acls": [
                {
                    "subject": "User:a",
                    "policies": [
                        {
                            "entries": [
                                {"resource": "Topic:t", "actions": ["Pub"], "decision": "Allow"}
                            ]
                        }
                    ],
                }
            ]
        },
    ],
)
def test_wrong_users_are_an_error(content: dict[str, object]) -> None:
    with pytest.raises(AclError):
        list(users_in(MemoryHome(content)))


def rules(**entry: object) -> dict[str, object]:
    given = {"resource": "Topic:t", "actions": ["Pub"], "decision": "Allow"} | entry
    return {
        "users": [{"username": "a", "password": "12345678"}],
        "acls": [{"subject": "User:a", "policies": [{"entries": [given]}]}],
    }


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"user": []}, "user has no effect; did you mean users?"),
        (
            {"users": [{"username": "a", "password": "x", "userTyp": "Super"}]},
            "users[0]: userTyp has no effect; did you mean userType?",
        ),
        (
            {"users": [{"username": "a", "password": "x", "userType": "Root"}]},
            "users[0]: Root is no word for it; there are: Super, Normal",
        ),
        (
            {"users": [{"username": "a", "password": "x"}] * 2},
            "users[1]: a is there twice",
        ),
        (rules(action=["Pub"]), "acls[0]: action has no effect; did you mean actions?"),
        (rules(actions=["Publish"]), "acls[0]: Publish is no word for it; there are: "),
        (rules(resource="Topc:t"), "acls[0]: The resource is null."),
    ],
)
def test_error_says_where_and_what(content: dict[str, object], why: str) -> None:
    with pytest.raises(AclError, match=re.escape(why)):
        list(users_in(MemoryHome(content)))


def test_names_of_4_9_7_are_passed_over() -> None:
    old = {"globalWhiteRemoteAddresses": ["10.*.*.*"], "accounts": [ACCOUNT], "dataVersion": []}
    assert len(list(users_in(MemoryHome(old)))) == 1


WRONG_SOURCE = "{resource: '*', actions: [Pub], sourceIps: [x]}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("users: [{username: a, password: 12345678}]", r"users\[0\]: .*YAML needs quotes"),
        ("acls: [{subject: a}]", r"acls\[0\]: subject: a: expected User:NAME"),
        (
            "acls: [{subject: 'User:a', policies: [{entries: [{resource: '*'}]}]}]",
            r"acls\[0\]: \*: an entry needs actions",
        ),
        (
            f"acls: [{{subject: 'User:a', policies: [{{entries: [{WRONG_SOURCE}]}}]}}]",
            r"acls\[0\]: sourceIps: x: expected an address or a range",
        ),
    ],
)
def test_error_in_a_file_says_where_and_what_is_right(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(text)
    with pytest.raises(AclError, match=f"^{re.escape(str(file))}: {why}"):
        list(users_in(FileHome(str(file))))
