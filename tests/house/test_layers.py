"""Every folder of the house has a layer, and imports only what lies in lower layers.

Imports inside functions obey the same rule. A module may import its own folder; two folders of
one layer do not import each other. What a lower layer needs of a higher one is handed to it as a
value, a callable, or an object that fits a `Protocol`.
"""

from __future__ import annotations

from tests.support.imports import (
    circles,
    folder,
    foreign_imports,
    imports,
    is_asynchronous,
    modules,
)

LAYERS = (
    "protocol",
    "errors randomness text_files",
    "events",
    "clock",
    "journal config client",
    "faults",
    "net store",
    "dispatch",
    "ha",
    "namesrv broker",
    "core",
    "dump biographies serving",
    "handles",
    "control sim",
    "cluster",
    "spark",
    "fakemq journal_file",
    "fixtures",
    "cli __main__",
)
"""From the bottom up; ``fakemq`` is the package itself, with its public names."""

RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names.split()}

ONLY_TYPES: dict[str, str] = {}
"""``source -> target``: why an import that is for type checkers alone may point up."""

UPWARD = {
    line.strip()
    for line in """
    __main__ -> cli
    """.splitlines()
}
"""What is still to be cut; this list only shrinks."""

EDGES = ("client", "cluster", "control", "handles", "net.tcp", "serving")
"""Folders and modules that know an event loop, sockets or threads; all others are synchronous."""

LOOP = {"anyio", "asyncio", "select", "selectors", "socket", "threading", "trio"}
MAY_IMPORT = {"config.layout": {"socket"}}
"""Module → what it needs although it is no edge: `config.layout` finds this machine's address."""


def test_every_folder_has_a_layer() -> None:
    assert {folder(module) for module in modules()} == RANK.keys()


def test_imports_point_down() -> None:
    upward = {
        f"{one.source} -> {one.target}"
        for one in imports()
        if folder(one.source) != folder(one.target)
        and RANK[folder(one.target)] >= RANK[folder(one.source)]
        and not (one.kind == "typing" and f"{one.source} -> {one.target}" in ONLY_TYPES)
    }
    assert upward == UPWARD - {""}


def test_exception_for_types_is_still_needed() -> None:
    typing = {f"{one.source} -> {one.target}" for one in imports() if one.kind == "typing"}
    assert set(ONLY_TYPES) <= typing


def test_no_module_is_in_a_circle() -> None:
    assert len(circles({"top", "function"})) <= 0


def is_edge(module: str) -> bool:
    return folder(module) in EDGES or module in EDGES


def test_only_edges_import_a_loop_sockets_or_threads() -> None:
    bad = {
        module: sorted(found)
        for module in modules()
        if not is_edge(module)
        and (found := foreign_imports(module) & LOOP - MAY_IMPORT.get(module, set()))
    }
    assert not bad


def test_only_edges_are_asynchronous() -> None:
    bad = [module for module in modules() if not is_edge(module) and is_asynchronous(module)]
    assert not bad


def test_protocol_does_not_import_the_operating_system() -> None:
    bad = [m for m in modules() if folder(m) == "protocol" and "os" in foreign_imports(m)]
    assert not bad
