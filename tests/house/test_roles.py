"""The role of a broker is an object: nothing but a start and a request reads it from the config."""

from __future__ import annotations

import ast
import re

from tests.support.sources import READ_BY_ONE_WORKER, name_of, nodes_of, python_files, tree_of

pytestmark = READ_BY_ONE_WORKER

MAY_READ = {
    "fakemq/broker/role.py",
    "fakemq/store/store.py",  # makes the object
}
CONFIG = re.compile("(^|_)config$")


def reads(tree: ast.Module) -> list[int]:
    """The lines that read ``….broker_role``, or ``is_slave`` of a config."""
    return [
        node.lineno
        for node in nodes_of(tree)
        if isinstance(node, ast.Attribute)
        and (node.attr == "broker_role" or (node.attr == "is_slave" and is_config(node.value)))
    ]


def is_config(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return CONFIG.search(name) is not None


def test_role_is_not_read_from_the_config() -> None:
    found = {
        f"{name_of(path)}:{line}"
        for path in python_files("fakemq")
        if not name_of(path).startswith("fakemq/config/") and name_of(path) not in MAY_READ
        for line in reads(tree_of(path))
    }
    assert found == set()


def test_reads_of_a_config_are_found() -> None:
    code = "broker.config.is_slave; self._config.is_slave; config.broker_role; broker.role.is_slave"
    assert len(reads(ast.parse(code))) == 3
