"""With ``strict`` a start refuses what a file with accounts has in vain; a change later warns."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

import fakemq
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
    ],
)
def test_start_refuses_what_has_no_effect(rules: dict[str, Any], line: str) -> None:
    with (
        pytest.raises(ConfigError, match=f"broker-a-0: .*plain_acl.yml: {line}"),
        fakemq.Cluster(acl=rules, strict=True),
    ):
        pass
    with fakemq.Cluster(acl=rules) as mq:
        (warned,) = mq.journal.find(Warned)
        assert line in warned.text


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
