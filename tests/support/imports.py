"""The layers of the house, and the imports of its modules, read from their sources.

An import has a kind: ``top`` (run when the module is loaded), ``function`` (run when a function is
called) or ``typing`` (never run: under ``if TYPE_CHECKING``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.support.sources import nodes_of, tree_of

ROOT = Path(__file__).resolve().parents[2]
LINKED = ("protocol", "fixtures")
"""Folders at the top that are imported as ``fakemq.<folder>``."""

LAYERS = (
    "protocol",
    "awaited errors files later forked_sockets randomness",
    "tls reference",
    "events",
    "clock",
    "journal config",
    "client",
    "faults",
    "net store",
    "dispatch",
    "ha",
    "controller namesrv broker",
    "proxy",
    "core",
    "metrics",
    "dump biographies serving inside",
    "decoding",
    "handles",
    "control sim",
    "cluster",
    "spark",
    "fakemq",
    "fixtures",
    "commands",
    "cli",
    "__main__",
)
"""From the bottom up; ``fakemq`` is the package itself, with its public names."""

RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names.split()}
"""Folder, or module of the root → the number of its layer."""


class Import(NamedTuple):
    """One module that imports another, both without the leading ``fakemq.``."""

    source: str
    target: str
    kind: str


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name without ``fakemq.``; the root is ``fakemq``."""
    found = {}
    for base in ("fakemq", *LINKED):
        for path in sorted((ROOT / base).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if parts[0] == "fakemq":
                parts = parts[1:]
                if parts[0] in LINKED:
                    continue  # the links; the files are read where they lie
            if parts[-1] == "__init__":
                parts = parts[:-1]
            found[".".join(parts) or "fakemq"] = path
    return found


def folder(module: str) -> str:
    """The part of the house that a module belongs to: ``broker`` for ``broker.handlers.pull``."""
    return module.partition(".")[0]


@cache
def imports() -> tuple[Import, ...]:
    """Every import of a module of ours by another, once for each kind."""
    found: dict[Import, None] = {}
    for module in modules():
        for name, kind in _names_imported(module):
            target = _module_of(name)
            if target is not None and target != module:
                found[Import(module, target, kind)] = None
    return tuple(found)


def foreign_imports(module: str) -> set[str]:
    """The top-level packages that a module imports, ours left out."""
    names = {name.partition(".")[0] for name, _ in _names_imported(module)}
    return names - {"fakemq", "__future__"}


def is_asynchronous(module: str) -> bool:
    """Whether a module has coroutines."""
    return any(
        isinstance(node, ast.AsyncFunctionDef | ast.Await) for node in nodes_of(_tree(module))
    )


def circles(kinds: set[str]) -> list[list[str]]:
    """The groups of modules that import each other, directly or through others."""
    targets: dict[str, set[str]] = {module: set() for module in modules()}
    for one in imports():
        if one.kind in kinds:
            targets[one.source].add(one.target)
    return [sorted(group) for group in _strongly_connected(targets) if len(group) > 1]


def folder_circles() -> list[list[str]]:
    """The groups of sub-folders of one folder that import each other, directly or through others.

    Modules that lie loose in the folder are left out.
    """
    packages = {name for name, path in modules().items() if path.name == "__init__.py"}
    targets: dict[str, set[str]] = {package: set() for package in packages}
    for one in imports():
        source, target = one.source.split("."), one.target.split(".")
        depth = next((n for n, (a, b) in enumerate(zip(source, target, strict=False)) if a != b), 0)
        first, second = (".".join(parts[: depth + 1]) for parts in (source, target))
        if depth and {first, second} <= packages:
            targets[first].add(second)
    return sorted(sorted(group) for group in _strongly_connected(targets) if len(group) > 1)


def _tree(module: str) -> ast.Module:
    return tree_of(modules()[module])


@cache
def _names_imported(module: str) -> list[tuple[str, str]]:
    """Every dotted name that a module imports, with the kind of its import."""
    return list(_imported(_tree(module), "top"))


def _imported(node: ast.AST, kind: str) -> Iterator[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        child_kind = kind
        if isinstance(child, ast.If) and _is_type_checking(child.test):
            for part in child.body:
                yield from _names(part, "typing")
                yield from _imported(part, "typing")
            for part in child.orelse:
                yield from _names(part, kind)
                yield from _imported(part, kind)
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and kind == "top":
            child_kind = "function"
        yield from _names(child, child_kind)
        yield from _imported(child, child_kind)


def _names(node: ast.AST, kind: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, kind) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((f"{node.module}.{alias.name}", kind) for alias in node.names)


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _module_of(name: str) -> str | None:
    """The module of ours that holds a dotted name; None if none of ours does."""
    first, _, rest = name.partition(".")
    if first != "fakemq":
        return None
    while rest:
        if rest in modules():
            return rest
        rest = rest.rpartition(".")[0]
    return "fakemq"


def _strongly_connected(targets: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other. Source: R. Tarjan, 1972, without recursion."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    groups = []
    for start in targets:
        if start in order:
            continue
        order[start] = lowest[start] = len(order)
        path.append(start)
        work = [(start, iter(targets[start]))]
        while work:
            node, left = work[-1]
            for target in left:
                if target not in order:
                    order[target] = lowest[target] = len(order)
                    path.append(target)
                    work.append((target, iter(targets[target])))
                    break
                if target in path:
                    lowest[node] = min(lowest[node], order[target])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == order[node]:
                    at = path.index(node)
                    groups.append(path[at:])
                    del path[at:]
    return groups
