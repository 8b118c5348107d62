"""Rules are read from all files, checked, and changed as in Java."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from fakemq.broker.acl.accounts import ACCOUNT_NAMES, PlainAccessConfig
from fakemq.broker.acl.errors import AclError
from fakemq.broker.acl.homes import AclHome, FileHome, MemoryHome
from fakemq.broker.acl.permission_manager import PlainPermissionManager
from fakemq.protocol.bodies.topic import DataVersion
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.signature import Credentials

NOW_MS = 1_700_000_000_000
SECRET = "12345678"
ACCOUNT = {"accessKey": "useruser", "secretKey": SECRET, "defaultTopicPerm": "PUB"}


class Rules(PlainPermissionManager):
    """The rules of a home, read, with what was warned about."""

    def __init__(self, home: AclHome) -> None:
        self.warned: list[str] = []
        super().__init__(home, now_ms=lambda: NOW_MS, warn=self.warned.append)
        self.load()

    def refusal(self, account: str = "useruser", topic: str = "T", host: str = "10.9.9.9") -> str:
        """Why a send is refused; "" if it is not."""
        command = RemotingCommand(RequestCode.SEND_MESSAGE_V2, ext_fields={"b": topic})
        if account:
            Credentials(account, SECRET).sign(command)
        try:
            self.validate(host, command)
        except AclError as error:
            return str(error.message)
        return ""


def rules_of(*accounts: dict[str, Any], **more: Any) -> Rules:
    return Rules(MemoryHome({"accounts": list(accounts), **more}))


def rules_in(folder: Path, **files: str) -> Rules:
    """The rules of a rocketmqHome; names of files have no ending."""
    (folder / "conf" / "acl").mkdir(parents=True)
    for name, text in files.items():
        place = folder / "conf" if name == "plain_acl" else folder / "conf" / "acl"
        (place / f"{name}.yml").write_text(text)
    return Rules(FileHome.of_rocketmq_home(str(folder)))


def test_account_may_do_what_its_file_says() -> None:
    rules = rules_of(ACCOUNT)
    assert rules.refusal() == ""
    assert rules.refusal("unknown") == "No acl config for unknown"
    assert rules.refusal("") == "No accessKey is configured"


@pytest.mark.parametrize(
    ("account", "message"),
    [
        (
            {"accessKey": "short1", "secretKey": SECRET},
            f"The accessKey=short1 and secretKey={SECRET} cannot be null and length should longer",
        ),
        (
            {"accessKey": "useruser"},
            "The accessKey=useruser and secretKey=null cannot be null and length should longer",
        ),
        (ACCOUNT | {"topicPerms": ["T"]}, "Parse resource permission failed for topic:T"),
        (
            ACCOUNT | {"whiteRemoteAddress": "1.2.3"},
            "Netaddress examine Exception netaddress is 1.2.3",
        ),
        (ACCOUNT | {"topicPerms": "T=PUB"}, "topic_perms: 'T=PUB': expected a list"),
    ],
)
def test_wrong_account_is_refused(account: dict[str, Any], message: str) -> None:
    with pytest.raises(AclError) as caught:
        rules_of(account)
    assert str(caught.value.message).startswith(message)


def aliases(levels: int) -> list[Any]:
    """What a file of a few lines with aliases becomes: 10**levels texts, if it is written out."""
    value: list[Any] = ["text"] * 10
    for _ in range(levels - 1):
        value = [value] * 10
    return value


@pytest.mark.parametrize(
    "content",
    [
        {"accounts": aliases(40)},
        {"accounts": {"accessKey": aliases(40)}},
        {"accounts": [ACCOUNT | {"secretKey": aliases(40)}]},
        {"accounts": [ACCOUNT | {"topicPerms": aliases(40)}]},
        {"accounts": [ACCOUNT | {"topicPerms": {"T": aliases(40)}}]},
        {"accounts": [ACCOUNT], "globalWhiteRemoteAddresses": aliases(40)},
        {"accounts": [ACCOUNT], "dataVersion": [{"counter": aliases(40)}]},
    ],
)
def test_aliases_of_yaml_are_refused_without_being_written_out(
    tmp_path: Path, content: dict[str, Any]
) -> None:
    with pytest.raises(AclError) as caught:
        rules_in(tmp_path, plain_acl=yaml.safe_dump(content))
    assert len(str(caught.value.message)) < 1_000


def test_number_that_python_does_not_write_is_refused() -> None:
    with pytest.raises(AclError, match="digits"):
        rules_of(ACCOUNT | {"secretKey": 16**5_000})


def test_names_may_differ_in_case_and_numbers_are_texts() -> None:
    rules = rules_of({"AccessKey": 12345678, "secret_key": SECRET, "default-topic-perm": "PUB"})
    assert rules.refusal("12345678") == ""


def test_unknown_name_is_a_warning() -> None:
    rules = rules_of(ACCOUNT | {"topicPerm": ["T=PUB"]})
    assert rules.warned == [
        (
            "conf/plain_acl.yml: no account has topicPerm: it has no effect in account useruser"
            "; did you mean topicPerms?"
        )
    ]


@pytest.mark.parametrize("name", [*ACCOUNT_NAMES, "globalWhiteRemoteAddresses", "accounts"])
def test_mistyped_name_is_named_with_the_one_that_was_meant(tmp_path: Path, name: str) -> None:
    typo = name[:3] + name[4:]
    of_account = name in ACCOUNT_NAMES
    content = {"accounts": [ACCOUNT | {typo: "x"}]} if of_account else {typo: []}
    rules = rules_in(tmp_path, plain_acl=yaml.safe_dump(content))
    what = f"no account has {typo}: it has no effect in account useruser"
    said = what if of_account else f"{typo} has no effect"
    path = f"{tmp_path}/conf/plain_acl.yml"
    assert rules.warned == [f"{path}: {said}; did you mean {name}?"]


def test_warning_names_a_few_of_many_accounts() -> None:
    rules = rules_of(*(ACCOUNT | {"accessKey": f"useruser{i}", "x": 1} for i in range(9)))
    (warning,) = rules.warned
    assert warning == (
        "conf/plain_acl.yml: no account has x: it has no effect in accounts useruser0, useruser1,"
        " useruser2, useruser3, useruser4 and 4 more"
    )


def test_account_twice_in_one_file_counts_as_in_java() -> None:
    rules = rules_of(ACCOUNT, ACCOUNT | {"defaultTopicPerm": "DENY"}, ACCOUNT)
    assert rules.refusal() == ""
    (warning,) = rules.warned
    assert warning == (
        "conf/plain_acl.yml: account useruser: twice: the first entry counts, and once the file"
        " has changed the last one, as in RocketMQ"
    )
    twice = {"accounts": [ACCOUNT, ACCOUNT | {"defaultTopicPerm": "DENY"}]}
    rules = Rules(MemoryHome(twice))
    rules.warned.clear()
    rules.load_file("conf/plain_acl.yml")
    assert rules.refusal() == "No default permission for topic:T"
    assert rules.warned == [
        "conf/plain_acl.yml: account useruser: twice: the last entry counts, as in RocketMQ"
    ]


def test_white_address_needs_no_key() -> None:
    rules = rules_of(globalWhiteRemoteAddresses=["10.9.*.*"])
    assert rules.refusal("") == ""
    assert rules.refusal("", host="10.8.9.9") == "No accessKey is configured"


def test_account_in_two_files_counts_once(tmp_path: Path) -> None:
    text = "accounts:\n- {accessKey: useruser, secretKey: '12345678', defaultTopicPerm: %s}\n"
    rules = rules_in(tmp_path, a=text % "PUB", plain_acl=text % "DENY")
    assert rules.refusal() == ""
    first, second = (str(tmp_path / "conf" / name) for name in ("acl/a.yml", "plain_acl.yml"))
    assert rules.warned == [
        f"{second}: account useruser: also in {first}: the entry there counts, as in RocketMQ"
    ]
    assert [account.default_topic_perm for account in rules.config().plain_access_configs] == [
        "PUB"
    ]


def test_versions_are_those_of_the_files(tmp_path: Path) -> None:
    rules = rules_in(
        tmp_path,
        a="dataVersion: [{counter: 3, timestamp: 5}]",
        plain_acl="accounts: []",
    )
    versions = {os.path.basename(path): one for path, one in rules.all_versions().items()}
    assert versions == {
        "a.yml": DataVersion(timestamp=5, counter=3),
        "plain_acl.yml": DataVersion(timestamp=NOW_MS),
    }
    assert rules.version == DataVersion(timestamp=NOW_MS)


def test_account_deleted_from_a_file_stays_known() -> None:
    home = MemoryHome({"accounts": [ACCOUNT]})
    rules = Rules(home)
    home.write(home.default_file, {"accounts": [], "globalWhiteRemoteAddresses": []})
    rules.load_file(home.default_file)
    assert rules.refusal() == "No PlainAccessResource for accessKey=useruser"


def test_wrong_file_leaves_the_rules() -> None:
    home = MemoryHome({"accounts": [ACCOUNT]})
    rules = Rules(home)
    home.write(home.default_file, {"accounts": [{"accessKey": "x"}]})
    with pytest.raises(AclError):
        rules.load_file(home.default_file)
    assert rules.refusal() == ""


def test_emptied_file_leaves_the_rules() -> None:
    home = MemoryHome({"accounts": [ACCOUNT]})
    rules = Rules(home)
    home.write(home.default_file, {})
    rules.load_file(home.default_file)
    assert rules.refusal() == ""


def test_operator_creates_changes_and_deletes_an_account() -> None:
    rules = rules_of(ACCOUNT)
    new = PlainAccessConfig(access_key="newaccount", secret_key=SECRET, topic_perms=["T=PUB"])
    rules.update_access_config(new)
    assert rules.refusal("newaccount") == ""
    path = MemoryHome.default_file
    assert rules.versions[path] == DataVersion(timestamp=NOW_MS, counter=1)
    # What the request does not name is gone until the file is read again.
    rules.update_access_config(
        PlainAccessConfig(access_key="newaccount", secret_key=SECRET, default_group_perm="SUB")
    )
    assert rules.refusal("newaccount") == "No default permission for topic:T"
    rules.load_file(path)
    assert rules.refusal("newaccount") == ""
    assert rules.versions[path].counter == 2
    assert rules.delete_access_config("newaccount")
    assert rules.refusal("newaccount") == "No acl config for newaccount"
    assert not rules.delete_access_config("newaccount")
    assert not rules.delete_access_config("")


def test_operator_changes_the_file_that_has_the_account(tmp_path: Path) -> None:
    text = "other: kept\naccounts:\n- {accessKey: useruser, secretKey: '12345678', note: kept}\n"
    rules = rules_in(tmp_path, team=text)
    rules.update_access_config(
        PlainAccessConfig(access_key="useruser", secret_key="87654321", admin=True)
    )
    assert (tmp_path / "conf" / "acl" / "team.yml").read_text() == (
        "other: kept\naccounts:\n- accessKey: useruser\n  secretKey: '87654321'\n  note: kept\n"
        f"  admin: true\ndataVersion:\n- counter: 1\n  timestamp: {NOW_MS}\n"
    )
    rules.update_access_config(PlainAccessConfig(access_key="newaccount", secret_key=SECRET))
    assert (tmp_path / "conf" / "plain_acl.yml").read_text() == (
        "accounts:\n- accessKey: newaccount\n  secretKey: '12345678'\n  admin: false\n"
        f"dataVersion:\n- counter: 1\n  timestamp: {NOW_MS}\n"
    )


def test_white_addresses_hold_when_the_file_is_read_again() -> None:
    rules = rules_of(ACCOUNT)
    assert rules.update_global_white_addrs(["10.9.9.9"], "")
    assert rules.refusal("") == "No accessKey is configured"
    rules.load_file(MemoryHome.default_file)
    assert rules.refusal("") == ""


@pytest.mark.parametrize("path", ["/etc/passwd", "{home}/../secret.yml", "{home}/conf/other.yml"])
def test_white_addresses_go_to_no_other_file(tmp_path: Path, path: str) -> None:
    home = tmp_path / "home"
    rules = rules_in(home, plain_acl="accounts: []")
    for other in (tmp_path / "secret.yml", home / "conf" / "other.yml"):
        other.write_text("kept: true")
    assert not rules.update_global_white_addrs(["*"], path.format(home=home))
    assert (tmp_path / "secret.yml").read_text() == "kept: true"
    assert (home / "conf" / "other.yml").read_text() == "kept: true"
