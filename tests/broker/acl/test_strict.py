"""With ``strict`` a start refuses what a file with accounts has in vain; a change later warns."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import fakemq
from fakemq.broker.acl.permissions import Perm
from fakemq.config.spec import broker_spec, cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.errors import ConfigError
from fakemq.events import Warned

ACCOUNT = {"accessKey": "useruser", "secretKey": "12345678"}
TYPO = {"accounts": [ACCOUNT | {"defaulTopicPerm": "PUB"}]}
LINE = "no account has defaulTopicPerm: it has no effect in account useruser; did you mean default"


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        (TYPO, LINE),
        ({"Accounts": [ACCOUNT]}, "Accounts has no effect; did you mean accounts?"),
        ({"accounts": [ACCOUNT, ACCOUNT]}, "account useruser: twice"),
        (
            {"accounts": [ACCOUNT | {"topicPerms": ["bills=SUB", "orders=PUBB"]}]},
            "account useruser: topicPerms: 'orders=PUBB': expected TOPIC=PUB|SUB, e.g. orders=PUB",
        ),
        (
            {"accounts": [ACCOUNT | {"groupPerms": ["billing=sub"]}]},
            "account useruser: groupPerms: 'billing=sub': expected GROUP=PUB|SUB, e.g. billing=",
        ),
        (
            {"accounts": [ACCOUNT | {"defaultTopicPerm": "DENYY"}]},
            "account useruser: defaultTopicPerm: 'DENYY': expected DENY, PUB, SUB or PUB|SUB",
        ),
    ],
)
def test_start_refuses_what_has_no_effect(rules: dict[str, Any], line: str) -> None:
    with (
        pytest.raises(ConfigError, match=f"broker-a-0: .*plain_acl.yml: {re.escape(line)}"),
        fakemq.Cluster(acl=rules, strict=True),
    ):
        pass
    with fakemq.Cluster(acl=rules) as mq:
        (warned,) = mq.journal.find(Warned)
        assert line in warned.text


def test_start_lists_all_that_has_no_effect() -> None:
    perms = [f"t{number}=all" for number in range(7)]
    rules = {"accounts": [ACCOUNT | {"topicPerms": ["ordersPUB", *perms], "Admin2": True}], "x": 1}
    with pytest.raises(ConfigError) as raised, fakemq.Cluster(acl=rules, strict=True):
        pass
    lines = [line.partition("plain_acl.yml: ")[2] for line in str(raised.value).splitlines()]
    expected = "expected TOPIC=PUB|SUB, e.g. orders=PUB|SUB"
    assert lines[:3] == [
        "x has no effect; there are: globalWhiteRemoteAddresses, accounts, dataVersion",
        f"account useruser: topicPerms: 'ordersPUB': {expected}",
        f"account useruser: topicPerms: 't0=all': {expected}",
    ]
    assert lines[6:8] == [
        "3 more mistyped permissions",
        "no account has Admin2: it has no effect in account useruser; did you mean admin?",
    ]
    assert str(raised.value).endswith("Parse resource permission failed for topic:ordersPUB")


def test_mistyped_permission_denies_as_in_java() -> None:
    rules = {"accounts": [ACCOUNT | {"topicPerms": ["a=DENY", "b=PUBB"]}]}
    with fakemq.Cluster(acl=rules) as mq:
        (warned,) = mq.journal.find(Warned)
        assert "'b=PUBB'" in warned.text
        access = mq.inspect(lambda core: core.broker("broker-a").acl)
        assert access is not None
        account = access.manager.account("useruser")
        assert account is not None
        assert account.perms == {"a": Perm.DENY, "b": Perm.DENY}


def test_start_of_one_broker_refuses_it_too(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "plain_acl.yml").write_text(yaml.safe_dump(TYPO))
    config = {"aclEnable": True, "rocketmqHome": str(tmp_path)}
    core = ClusterCore(broker_spec(config, strict=True), [], [10911])
    with pytest.raises(ConfigError, match=f"{tmp_path}/conf/plain_acl.yml: {LINE}"):
        core.start()


def test_change_of_a_file_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "plain_acl.yml"
    path.write_text(yaml.safe_dump({"accounts": [ACCOUNT]}))
    spec = cluster_spec(acl=str(path), strict=True, clock="frozen")
    core = ClusterCore(spec, ["127.0.0.1:1"], [10911])
    core.start()
    path.write_text(yaml.safe_dump(TYPO))
    os.utime(path, (1, 1))
    core.advance(5_000)
    (warned,) = core.journal.find(Warned)
    assert LINE in warned.text
    core.stop()
