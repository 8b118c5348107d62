"""What each config key does: the tables, the code that reads the keys, and docs/config.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fakemq.config.files import idle_keys, load
from fakemq.config.model import BrokerConfig, Config, NamesrvConfig, keys_of
from fakemq.config.v5.model import BrokerConfig5, NamesrvConfig5
from fakemq.errors import ConfigError, ConfigWarning
from tests.support.imports import ROOT
from tests.support.key_table import key_page, state_of

KINDS = (BrokerConfig, NamesrvConfig, BrokerConfig5, NamesrvConfig5)
KEYS = {(key.table, key.attribute): key for kind in KINDS for key in keys_of(kind).values()}
DECLARING = ("keys", "model", "rows")


def code_of_servers() -> str:
    """Return the code that may read keys: that of clients and Spark has options of its own."""
    return "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "fakemq").rglob("*.py")
        if path.relative_to(ROOT / "fakemq").parts[0] not in ("client", "spark")
        and not ("config" in path.parts and path.name.startswith(DECLARING))
    )


def test_code_reads_the_keys_that_act_and_no_others() -> None:
    words = set(re.findall(r"\w+", code_of_servers()))
    read = {at for at in KEYS if at[1] in words}
    acts = {at for at, key in KEYS.items() if key.row.acts}
    # That of name servers has its name in common with that of brokers.
    idle = {at for at, key in KEYS.items() if key.row.idle}
    idle -= {at for at in idle if any(at[1] == other[1] for other in acts)}
    assert sorted(at[1] for at in acts - read) == []
    assert sorted(at[1] for at in idle & read) == []


def test_docs_page_prints_the_tables() -> None:
    assert (ROOT / "docs/config.md").read_text(encoding="utf-8") == key_page()


def test_keys_without_effect_are_one_warning_for_each_source(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text("pullMessageThreadPoolNums=64\nregionId=r\nwarmMapedFileEnable=true\n")
    warnings: list[str] = []
    loaded = load(path, BrokerConfig, warn=warnings.append)
    assert loaded.values["pull_message_thread_pool_nums"] == 64
    text = "without effect here, see docs/config.md: pullMessageThreadPoolNums, warmMapedFileEnable"
    assert warnings == [f"{path}: {text}"]
    with pytest.warns(ConfigWarning, match="warmMapedFileEnable"):
        load(path, BrokerConfig)
    with pytest.raises(ConfigError, match=r"broker\.conf: without effect here, .*warmMapedFile"):
        load(path, BrokerConfig, strict=True)


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_of_keys_without_effect_are_no_warning(kind: type[Config]) -> None:
    defaults = {key.attribute: getattr(kind, key.attribute) for key in keys_of(kind).values()}
    assert idle_keys(kind, defaults) == []


def test_refused_keys_say_which_values_are_supported() -> None:
    by_name = keys_of(BrokerConfig)
    assert by_name["useReentrantLockWhenPutMessage"].row.refused is None
    state = state_of(by_name["duplicationEnable"])
    supported = "supported: false; with true, RocketMQ 4.9.7 delivers no message"
    assert state == ("refused", supported)
