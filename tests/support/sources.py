"""The tree's own Python files, each parsed once in a process: all checks of the house read them."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINKS = (Path("fakemq/protocol"), Path("fakemq/fixtures"))
"""Their files are read where they lie."""

READ_BY_ONE_WORKER = pytest.mark.xdist_group("sources")
"""Of tests that read all files: each worker of xdist would parse them again."""


@cache
def python_files(folder: str) -> tuple[Path, ...]:
    """Return the Python files below a folder of the tree, in the order of their names."""
    return tuple(
        path
        for path in sorted((ROOT / folder).rglob("*.py"))
        if ".cache" not in path.parts
        and not any(path.relative_to(ROOT).is_relative_to(link) for link in LINKS)
    )


def name_of(path: Path) -> str:
    """Return a file's path from the root of the tree: ``fakemq/store/disk.py``."""
    return path.relative_to(ROOT).as_posix()


@cache
def text_of(path: Path) -> str:
    """Return a file's text."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a file's syntax tree, which no caller changes."""
    # Trees are many objects and no garbage: to look for that takes longer than to parse them.
    gc.disable()
    try:
        return ast.parse(text_of(path))
    finally:
        gc.freeze()
        gc.enable()


@cache
def nodes_of(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return all nodes of a tree, in the order of `ast.walk`, which takes as long as to parse."""
    return tuple(ast.walk(tree))
