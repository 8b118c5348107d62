"""Files of rules: where they lie, what they may say, and how they are written."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakemq.broker.acl import homes
from fakemq.broker.acl.accounts import PlainAccessConfig
from fakemq.broker.acl.errors import AclError
from fakemq.broker.acl.homes import FileHome, MemoryHome, home_of
from fakemq.errors import ConfigError


def file_home(tmp_path: Path, text: str = "") -> FileHome:
    path = tmp_path / "plain_acl.yml"
    path.write_text(text)
    return FileHome(str(path))


def test_rocketmq_home_has_a_file_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "conf" / "acl" / "team").mkdir(parents=True)
    for name in ("acl/b.yml", "acl/a.yaml", "acl/team/c.yml", "acl/notes.txt"):
        (tmp_path / "conf" / name).write_text("accounts: []")
    home = FileHome.of_rocketmq_home(str(tmp_path))
    home.prepare()
    assert (tmp_path / "conf" / "plain_acl.yml").read_bytes() == b""
    assert [os.path.relpath(path, tmp_path / "conf") for path in home.files()] == [
        *("acl/a.yaml", "acl/b.yml", "acl/team/c.yml", "plain_acl.yml"),
    ]
    assert home.read(home.default_file) is None


def test_rocketmq_home_without_conf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AclError, match=r"plain_acl\.yml: No such file or directory"):
        FileHome.of_rocketmq_home(str(tmp_path)).prepare()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accounts: [", "plain_acl.yml: line 2, column 1: did not find expected node content"),
        ("just text", "plain_acl.yml: expected a mapping with accounts"),
        ("a: !!python/object:os.system {}", "could not determine a constructor"),
        ("a: 2020-99-99", "plain_acl.yml: "),
    ],
)
def test_file_that_says_something_else_is_refused(tmp_path: Path, text: str, message: str) -> None:
    home = file_home(tmp_path, text)
    with pytest.raises(AclError, match=message):
        home.read(home.default_file)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_refused(tmp_path: Path, opening: str) -> None:
    home = file_home(tmp_path, opening * 100_000)
    # PyYAML 6.0.4 refuses some of them itself.
    refusal = r"plain_acl\.yml: (more than 100 collections|.*\n?exceeded maximum nesting depth)"
    with pytest.raises(AclError, match=refusal):
        home.read(home.default_file)


def test_pipe_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "plain_acl.yml")
    home = FileHome(str(tmp_path / "plain_acl.yml"))
    with pytest.raises(AclError, match="named pipe"):
        home.read(home.default_file)


def test_file_is_written_in_blocks_in_its_own_order(tmp_path: Path) -> None:
    home = file_home(tmp_path)
    content = {"globalWhiteRemoteAddresses": ["10.0.0.*"], "accounts": [{"accessKey": "né"}]}
    home.write(home.default_file, content)
    assert Path(home.default_file).read_text(encoding="utf-8") == (
        "globalWhiteRemoteAddresses:\n- 10.0.0.*\naccounts:\n- accessKey: né\n"
    )


def test_stamp_changes_with_the_file(tmp_path: Path) -> None:
    home = file_home(tmp_path, "a: 1")
    before = home.stamp(home.default_file)
    os.utime(home.default_file, ns=(1, 1))
    assert home.stamp(home.default_file) != before
    assert home.stamp(str(tmp_path / "nothing")) == 0


keys = st.text("abcdefgh12", min_size=7, max_size=12)
accounts = st.builds(
    PlainAccessConfig,
    access_key=keys,
    secret_key=st.text(min_size=7, max_size=9),
    white_remote_address=st.sampled_from([None, "", "10.0.0.1", "*", "10.0.0.{1,2}", "::1"]),
    admin=st.booleans(),
    default_topic_perm=st.sampled_from([None, "DENY", "PUB|SUB"]),
    topic_perms=st.none() | st.lists(st.sampled_from(["a=PUB", "b=SUB", "c=DENY"])),
)


@given(account=accounts)
@example(
    account=PlainAccessConfig(
        access_key="abcdefgh", secret_key="a\x85b\u2028c\u2029d\ufeffe\x7f", admin=False
    )
)
def test_account_is_read_as_it_was_written(
    account: PlainAccessConfig, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = file_home(tmp_path_factory.mktemp("home"))
    entry = {
        "accessKey": account.access_key,
        "secretKey": account.secret_key,
        "whiteRemoteAddress": account.white_remote_address,
        "admin": account.admin,
        "defaultTopicPerm": account.default_topic_perm,
        "topicPerms": account.topic_perms,
    }
    try:
        home.write(home.default_file, {"accounts": [entry]})
    except AclError:
        return  # half a surrogate pair, which no file can keep
    content = home.read(home.default_file)
    assert content is not None
    assert PlainAccessConfig.of(content["accounts"][0]) == account


def test_value_in_memory_is_copied() -> None:
    value = {"accounts": [{"accessKey": "k", "topicPerms": ("a=PUB",)}]}
    home = MemoryHome(value)
    first = home.read(home.default_file)
    assert first == {"accounts": [{"accessKey": "k", "topicPerms": ["a=PUB"]}]}
    home.write(home.default_file, {"accounts": []})
    assert home.read(home.default_file) == {"accounts": []}
    home.reset()
    assert home.read(home.default_file) == first


def test_home_needs_a_file_or_a_folder(tmp_path: Path) -> None:
    assert isinstance(home_of({}, None), MemoryHome)
    assert isinstance(home_of(None, str(tmp_path)), FileHome)
    with pytest.raises(ConfigError, match="aclEnable=true needs rocketmqHome=DIR"):
        home_of(None, None)


def test_path_that_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    expected = "expected a file with accounts, such as plain_acl.yml"
    for name, message in (
        ("nothing.yml", f"there is no such file; {expected}"),
        ("pipe", f"Is a named pipe, not a regular file; {expected}"),
        (".", f"Is a directory, not a regular file; {expected}; the files of a folder DIR/conf/"),
        ("pipe/x", f"there is no such file; {expected}"),
    ):
        with pytest.raises(ConfigError, match=re.escape(f"acl={tmp_path / name}: {message}")):
            home_of(str(tmp_path / name), None)


def test_missing_extra_is_named_with_its_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homes, "find_spec", lambda name: None)
    (tmp_path / "plain_acl.yml").touch()
    for acl, home in ((str(tmp_path / "plain_acl.yml"), None), (None, str(tmp_path))):
        with pytest.raises(ConfigError, match=r"not installed: pip install 'fakemq\[acl\]'; in"):
            home_of(acl, home)
    assert isinstance(home_of({"accounts": []}, None), MemoryHome)
