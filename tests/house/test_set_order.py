"""No order that reaches a user is that of a set: with texts it changes with the seed of the hash.

What loops over a set is found by reading the source. Take `dict.fromkeys`, or `sorted`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.loops import ROOT
from tests.support.sources import READ_BY_ONE_WORKER, nodes_of, tree_of

pytestmark = READ_BY_ONE_WORKER

FOLDERS = ("biographies", "commands", "control", "handles", "journal", "sim")
WITHOUT_ORDER = frozenset(
    ("all", "any", "dict", "frozenset", "len", "max", "min", "set", "sorted", "sum")
)
"""Functions whose result is the same in any order."""
SET_METHODS = frozenset(("difference", "intersection", "symmetric_difference", "union"))
VIEWS = frozenset(("items", "keys"))
OPERATORS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)

ROWS: dict[str, str] = {
    "control/control.py: close: self._waits": "Each is woken, and goes its own way.",
    "handles/running.py: end: self.waits": "Each is ended.",
}
"""Loops whose order reaches no user, and why."""


def test_no_order_is_that_of_a_set() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {one}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for one in loops_over_sets(path)
    }
    assert found - ROWS.keys() == set(), "take dict.fromkeys or sorted"
    assert not ROWS.keys() - found, "these loops have gone: delete their rows"


def loops_over_sets(path: Path) -> Iterator[str]:
    """Yield each loop of a module over a set, as ``function: what it runs over``."""
    tree = tree_of(path)
    makers = {
        f"{node.name}()"
        for node in nodes_of(tree)
        if isinstance(node, ast.FunctionDef) and _says_set(node.returns)
    }
    attributes = {
        ast.unparse(node.target)
        for node in nodes_of(tree)
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Attribute)
        and _says_set(node.annotation)
    }
    for function in nodes_of(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            names = {*_sets_of(function, makers | attributes)}
            for over in _walked(function):
                if _is_set(over, names | makers | attributes):
                    yield f"{function.name}: {ast.unparse(over)}"


def _says_set(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation).startswith(
        ("set[", "frozenset[", "AbstractSet[")
    )


def _sets_of(function: ast.AST, known: set[str]) -> Iterator[str]:
    """Yield the names of sets in a function."""
    for node in ast.walk(function):
        if isinstance(node, ast.arg | ast.AnnAssign) and _says_set(node.annotation):
            yield node.arg if isinstance(node, ast.arg) else ast.unparse(node.target)
        elif isinstance(node, ast.Assign) and _is_set(node.value, known):
            yield from (one.id for one in node.targets if isinstance(one, ast.Name))


def _is_set(node: ast.expr, names: set[str]) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.BinOp(op=op, left=left, right=right) if isinstance(op, OPERATORS):
            sides = (left, right)
            if isinstance(op, ast.BitOr) and not any(_is_set(one, names) for one in sides):
                return any(_is_view(one) for one in sides)
            return any(_is_set(one, names) or _is_view(one) for one in sides)
        case ast.Call(func=ast.Name(id=name)):
            return name in ("frozenset", "set") or f"{name}()" in names
        case ast.Call(func=ast.Attribute(attr=name)):
            of_self = ast.unparse(node.func) == f"self.{name}"
            return name in SET_METHODS or (of_self and f"{name}()" in names)
        case ast.Name() | ast.Attribute():
            return ast.unparse(node) in names
        case ast.IfExp(body=body, orelse=other):
            return _is_set(body, names) or _is_set(other, names)
    return False


def _is_view(node: ast.expr) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in VIEWS


def _walked(function: ast.AST) -> Iterator[ast.expr]:
    """Yield what a function walks in an order that may be seen."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.For | ast.AsyncFor):
            yield node.iter
        elif isinstance(node, ast.Starred):
            yield node.value
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in WITHOUT_ORDER:
                for argument in node.args:  # the order is gone, but inner loops may have one
                    inner: ast.AST = argument
                    if isinstance(argument, ast.GeneratorExp | ast.ListComp):
                        inner = argument.elt
                    elif isinstance(argument, ast.Set):
                        inner = ast.Expression(argument)
                    yield from _walked(inner)
                continue
            if name in ("fromkeys", "join", "list", "tuple", "enumerate", "next", "iter"):
                yield from node.args
        elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
            yield from (one.iter for one in node.generators)
        elif isinstance(node, ast.Set):
            for element in node.elts:
                yield from _walked(element)
            continue
        yield from _walked(node)


SOURCE = """
class Table:
    def __init__(self) -> None:
        self.names: set[str] = set()

    def display(self, pops):
        for group in {one.group for one in pops}:
            yield group

    def operator(self, commits, found):
        popped = set(found)
        for group in popped & commits.keys():
            yield group
        return [one for one in commits.keys() - found]

    def join(self):
        return ", ".join(self.names), list(self.names), [*self.names]

    def good(self, commits):
        for group in dict.fromkeys(commits):
            yield group
        for group in sorted(self.names):
            yield group
        if any(one for one in self.names) or len(self.names) - 1:
            return {one for one in self.names}
        if sorted({*self.names, "more"}):
            return commits.waiting(self.other.names)
        return sorted(one for one in self.names), commits | {}
"""


def test_finder_knows_sets(tmp_path: Path) -> None:
    path = tmp_path / "table.py"
    path.write_text(SOURCE)
    assert list(loops_over_sets(path)) == [
        "display: {one.group for one in pops}",
        "operator: popped & commits.keys()",
        "operator: commits.keys() - found",
        "join: self.names",
        "join: self.names",
        "join: self.names",
    ]
