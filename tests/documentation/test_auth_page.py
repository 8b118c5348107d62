"""The examples of docs/auth.md do what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fakemq
from fakemq.client import MQBrokerError, MQClientError
from fakemq.errors import ConfigError

PAGE = (Path(__file__).parents[2] / "docs" / "auth.md").read_text(encoding="utf-8")


def examples(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_python_examples_run_one_after_the_other() -> None:
    cluster, requests = examples("python")
    inside = "".join(f"    {line}\n" for line in requests.splitlines())
    more = """
    cash = mq.producer(group="cash", access_key="cash", secret_key="12345678")
    cash.send("paid", b"tea")
"""
    cluster = cluster.replace('topics={"orders": 4}', 'topics={"orders": 4, "paid": 1}')
    exec(cluster + inside + more, {"fakemq": fakemq})


def test_config_file_begins_with_an_administrator(tmp_path: Path) -> None:
    (text,) = examples("properties")
    file = tmp_path / "broker.conf"
    file.write_text(text)
    with fakemq.Cluster(reference="5.5.0", config=str(file), topics={"orders": 1}, slaves=1) as mq:
        mq.producer(access_key="admin", secret_key="12345678").send("orders", b"tea")
        with pytest.raises((MQBrokerError, MQClientError), match="username cannot be null"):
            mq.producer(group="p").send("orders", b"tea")
    file.write_text("".join(line for line in text.splitlines(True) if "MetadataP" not in line))
    with (
        pytest.raises(ConfigError, match="authenticationMetadataProvider is not configured"),
        fakemq.Cluster(reference="5.5.0", config=str(file)),
    ):
        pass


def test_file_of_rules_has_the_rights_of_the_page(tmp_path: Path) -> None:
    (text,) = examples("yaml")
    file = tmp_path / "rules.yml"
    file.write_text(text)
    with fakemq.Cluster(reference="5.5.0", acl=str(file), topics={"orders": 1}) as mq:
        mq.producer(access_key="shop", secret_key="12345678").send("orders", b"tea")
