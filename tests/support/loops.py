"""Finds loops over tables that peers may fill, by reading the source.

A loop is a ``for``, a ``while``, a comprehension, or a call of ``sorted`` and the like. It counts
if

1. what it runs over is a container that the constructor of its class makes empty (``self._table``),
   or the items, values, keys or a snapshot of anything that is an attribute, and
2. nothing in it yields, so that all of it is done in one turn.

Copies (``list(self._table)``) do not count: they take 10 ns for each item. Nor do the nodes of a
cluster: no peer adds one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.sources import tree_of

_CONTAINERS = frozenset(
    ("dict", "list", "set", "deque", "OrderedDict", "defaultdict", "Counter", "WeakSet")
)
_WALKS = frozenset(("sorted", "sum", "any", "all", "min", "max", "heapify"))
_NODES = (".brokers.values()", ".brokers.items()")
_VIEWS = frozenset(("items", "values", "keys", "snapshot"))


ROOT = Path(__file__).parents[2] / "fakemq"
_FOLDERS = (
    *(
        "biographies",
        "broker",
        "clock",
        "control",
        "core",
        "dispatch",
        "controller",
        "ha",
        "journal",
        "namesrv",
        "net",
    ),
    *("proxy", "store"),
)


def on_loop() -> Iterator[tuple[str, Path]]:
    """Yield what runs on a cluster's loop, between a peer's bytes and its answer."""
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), path


class Loop(NamedTuple):
    """One loop; functions are named with their class, inner ones with the outer one."""

    function: str
    over: str
    line: int

    @property
    def key(self) -> str:
        return f"{self.function}: {self.over}"


def loops(path: Path) -> list[Loop]:
    """Return the loops of a module that count."""
    found: list[Loop] = []
    tree = tree_of(path)
    for node in tree.body:
        _visit(node, "", frozenset(), found)
    return found


def _visit(node: ast.AST, name: str, tables: frozenset[str], found: list[Loop]) -> None:
    if isinstance(node, ast.ClassDef):
        name, tables = f"{name}{node.name}.", _tables(node)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        name = f"{name}{node.name}"
        found += (
            Loop(name, ast.unparse(over), over.lineno)
            for over in _walked(node)
            if _is_table(over, tables)
        )
        name += "."
    for child in ast.iter_child_nodes(node):
        _visit(child, name, tables, found)


def _tables(node: ast.ClassDef) -> frozenset[str]:
    """Return the attributes that the constructor of a class sets to empty containers."""
    names = set()
    for function in node.body:
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            for part in ast.walk(function):
                if not isinstance(part, (ast.AnnAssign, ast.Assign)):
                    continue
                targets = [part.target] if isinstance(part, ast.AnnAssign) else part.targets
                names |= {
                    target.attr
                    for target in targets
                    if isinstance(target, ast.Attribute) and _is_container(part.value)
                }
    return frozenset(names)


def _is_container(value: ast.expr | None) -> bool:
    if isinstance(value, ast.IfExp):
        return _is_container(value.body) or _is_container(value.orelse)
    if isinstance(value, ast.Call):
        function = value.func.value if isinstance(value.func, ast.Subscript) else value.func
        return isinstance(function, ast.Name) and function.id in _CONTAINERS and not value.args
    if isinstance(value, ast.Dict):
        return not value.keys
    return isinstance(value, ast.List) and not value.elts


def _walked(function: ast.AST) -> Iterator[ast.expr]:
    """Yield what the loops of a function run over, without those of inner functions."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, (ast.For, ast.AsyncFor)):
            if not _yields(node):
                yield node.iter
        elif isinstance(node, ast.While):
            if not _yields(node):
                yield node.test
        elif isinstance(node, ast.comprehension):
            yield node.iter
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in _WALKS
            and len(node.args) == 1
            and not isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp, ast.SetComp))
        ):
            yield node.args[0]
        yield from _walked(node)


def _yields(loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    return any(
        isinstance(node, (ast.Yield, ast.YieldFrom))
        for part in loop.body
        for node in ast.walk(part)
    )


def _is_table(over: ast.expr, tables: frozenset[str]) -> bool:
    if ast.unparse(over).endswith(_NODES):
        return False
    for node in ast.walk(over):
        if not isinstance(node, ast.Attribute):
            continue
        of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
        if of_self and node.attr in tables:
            return True
        if node.attr in _VIEWS and any(
            isinstance(part, ast.Attribute) for part in ast.walk(node.value)
        ):
            return True
    return False
