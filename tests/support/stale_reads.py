"""Finds what long work reads of a table, and uses after others may have changed that table.

Long work is a generator, except one that returns an iterator of values: its caller takes them
when it likes. In it, a name counts if

1. it is bound to what a table has (``self._table.get(key)``, ``found[key]`` of an attribute, a
   snapshot), to what a function of the same module returns of one (``config = _existing(broker)``),
   or by a loop over items or values of one, and
2. a step lies between: a ``yield`` stands between there and a use of the name, or in a loop that
   uses the name and does not bind it, or in the loop that binds it.

It is a reading of the text alone, so it also finds names whose use is right. There are four
kinds of reads that it does not find: of a helper of another module, of a helper that calls one, of
a local name of a table (``table = self._table``, then ``table.get(key)``), and an attribute of an
argument that others replace.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.sources import nodes_of, tree_of

_READS = frozenset(("get", "setdefault", "find", "select", "existing", "snapshot", "group"))
_VIEWS = frozenset(("items", "values"))
_Loop = ast.For | ast.While | ast.comprehension


def stale_reads(path: Path) -> Iterator[str]:
    """Yield ``function: name`` for each such name of a module, once."""
    tree = tree_of(path)
    yield from dict.fromkeys(_of_body(tree, "", frozenset(_helpers(tree))))


def _helpers(tree: ast.AST) -> Iterator[str]:
    """Yield the names of functions that return a part of a table."""
    for function in nodes_of(tree):
        if isinstance(function, ast.FunctionDef) and not any(_steps(function)):
            nodes = list(_own(function))
            bound = {name for name, _, loop in _bound(nodes, frozenset()) if loop is None}
            for one in nodes:
                if isinstance(one, ast.Return) and one.value is not None:
                    named = isinstance(one.value, ast.Name) and one.value.id in bound
                    if named or _is_read(one.value, frozenset()):
                        yield function.name


def _of_body(node: ast.AST, name: str, helpers: frozenset[str]) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = f"{name}{child.name}"
            if isinstance(child, ast.FunctionDef) and _is_long_work(child):
                yield from (f"{inner}: {one}" for one in _stale_names(child, helpers))
            yield from _of_body(child, f"{inner}.", helpers)
        else:
            yield from _of_body(child, name, helpers)


def _is_long_work(function: ast.FunctionDef) -> bool:
    returned = "" if function.returns is None else ast.unparse(function.returns)
    values = returned.startswith(("Iterator[", "Iterable[")) and returned != "Iterator[None]"
    return any(_steps(function)) and not values


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of inner functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield child
            yield from _own(child)


def _steps(node: ast.AST) -> Iterator[ast.AST]:
    return (one for one in _own(node) if isinstance(one, (ast.Yield, ast.YieldFrom)))


def _stale_names(function: ast.FunctionDef, helpers: frozenset[str]) -> Iterator[str]:
    nodes = list(_own(function))
    steps = [one.lineno for one in _steps(function)]  # type: ignore[attr-defined]
    loops = [one for one in nodes if isinstance(one, (ast.For, ast.While))]
    used = [one for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    for name, line, loop in _bound(nodes, helpers):
        if loop is not None and any(_steps(loop)):
            yield name
            continue
        for use in used:
            if use.id != name or use.lineno < line:
                continue
            around = (one for one in loops if one.lineno <= use.lineno <= (one.end_lineno or 0))
            in_loop = any(not one.lineno <= line and any(_steps(one)) for one in around)
            if in_loop or any(line < step < use.lineno for step in steps):
                yield name
                break


def _bound(
    nodes: list[ast.AST], helpers: frozenset[str]
) -> Iterator[tuple[str, int, ast.For | None]]:
    """Yield the names that are bound to parts of tables, where, and by which loop if by one."""
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from (
                    (name, node.lineno, None) for name in _read(target, node.value, helpers)
                )
        elif isinstance(node, ast.NamedExpr) and _is_read(node.value, helpers):
            yield node.target.id, node.lineno, None
        elif isinstance(node, ast.For) and _is_view(node.iter):
            for name in _names(_value(node.target, node.iter)):
                yield name, node.lineno, node


def _value(target: ast.expr, over: ast.expr) -> ast.expr:
    """Return the part of a loop's target that is no key."""
    for mark in ("enumerate(", ".items()"):
        if mark in ast.unparse(over) and isinstance(target, ast.Tuple):
            target = target.elts[1]
    return target


def _read(target: ast.expr, value: ast.expr, helpers: frozenset[str]) -> Iterator[str]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its_value in zip(target.elts, value.elts, strict=False):  # one may be starred
            yield from _read(one, its_value, helpers)
    elif _is_read(value, helpers):
        yield from _names(target)


def _names(target: ast.expr) -> list[str]:
    return [one.id for one in ast.walk(target) if isinstance(one, ast.Name)]


def _is_read(value: ast.expr, helpers: frozenset[str]) -> bool:
    """Return whether an expression is a part of a table."""
    if isinstance(value, ast.IfExp):
        return _is_read(value.body, helpers) or _is_read(value.orelse, helpers)
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Attribute)
    if isinstance(value, ast.Call) and ast.unparse(value.func).removeprefix("self.") in helpers:
        return True
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _READS
        and any(isinstance(one, ast.Attribute) for one in ast.walk(value.func.value))
        and "header" not in ast.unparse(value.func.value)
    )


def _is_view(over: ast.expr) -> bool:
    """Return whether a loop runs over the items or values of a table, or a copy of them."""
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in _VIEWS
        and any(isinstance(part, ast.Attribute) for part in ast.walk(one.func.value))
        for one in ast.walk(over)
    )
