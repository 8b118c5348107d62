"""What is known of a config key is said in one place: its row in a table of `config/keys.py`."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest

from fakemq.config import keys
from fakemq.config.model import BrokerConfig, NamesrvConfig, keys_of
from fakemq.config.rows import row_of
from fakemq.config.v5 import keys as v5_keys
from fakemq.config.v5.controller import keys as controller_keys
from fakemq.config.v5.controller.model import ControllerConfig
from fakemq.config.v5.model import BrokerConfig5, NamesrvConfig5
from tests.support.imports import ROOT

KINDS = (BrokerConfig, NamesrvConfig, BrokerConfig5, NamesrvConfig5, ControllerConfig)
KEYS = [key for kind in KINDS for key in keys_of(kind).values()]
TABLES = [
    table
    for module in (keys, v5_keys, controller_keys)
    for table in vars(module).values()
    if isinstance(table, type) and table.__module__ == module.__name__
]
CONFIG = ROOT / "fakemq" / "config"
SET_VALUES = {"layout.py", "log_folders.py", "spec.py"}
"""Modules that give keys the values of a cluster, and name them in errors."""
OTHER_DEFAULTS = {"listen_port"}
"""The keys of NettyServerConfig whose defaults brokers and name servers replace, as Java's do."""


@pytest.mark.parametrize("path", ["keys.py", "v5/keys.py", "v5/controller/keys.py"])
def test_table_has_one_row_for_each_key(path: str) -> None:
    for table in ast.parse((CONFIG / path).read_text(encoding="utf-8")).body:
        if isinstance(table, ast.ClassDef):
            rows = [one.target for one in table.body if isinstance(one, ast.AnnAssign)]
            assert [*Counter(map(ast.unparse, rows)).values()] == [1] * len(rows)


@pytest.mark.parametrize("table", TABLES)
def test_row_says_once_what_a_key_does(table: type) -> None:
    for attribute, declared in vars(table)["__annotations__"].items():
        row = row_of(table, attribute)
        known = [row.acts is not None, row.idle is not None, row.refused is not None]
        assert sum(known) == 1, f"{attribute}: say Acts(…), Idle(…) or Unsupported(…)"
        here = len(re.findall(r"\b(?:Acts|Idle|Unsupported)\(", declared))
        assert here == 1 or (here == 0 and hasattr(table.__base__, attribute)), declared


@pytest.mark.parametrize("table", TABLES)
def test_row_of_an_earlier_key_says_what_differs(table: type) -> None:
    earlier = table.__base__
    assert earlier is not None
    for attribute, declared in vars(table)["__annotations__"].items():
        if hasattr(earlier, attribute):
            own = vars(table).get(attribute)
            assert own != getattr(earlier, attribute), f"{attribute}: its default is no other one"
            assert own is not None or "Annotated" in declared, f"{attribute} says nothing"


def test_no_other_module_describes_a_key() -> None:
    names = {name for key in KEYS for name in (key.attribute, key.name)}
    for path in sorted(CONFIG.rglob("*.py")):
        if path.name == "keys.py" or path.name in SET_VALUES:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant):
                assert node.value not in names, f"{path}: say it in the row of {node.value}"
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                assert node.target.id not in names - OTHER_DEFAULTS, f"{path}: {node.target.id}"


def test_only_a_row_knows_the_default_of_a_key() -> None:
    for kind in KINDS:
        for key in keys_of(kind).values():
            if key.attribute not in OTHER_DEFAULTS:
                of_table = next(
                    vars(one)[key.attribute]
                    for one in key.table.__mro__
                    if key.attribute in vars(one)
                )
                assert getattr(kind, key.attribute) == of_table, key
