"""Everything that changes a file of a store is a call of `os` that the kill tests can see.

`tests.support.recorded_disk` writes down these calls and tries what a kill after each of them would
leave. A change made in another way (a file object, `shutil`, a path's method) would not be tried.
"""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.support.recorded_disk import CHANGES, NOT_USED, SYNCS
from tests.support.sources import READ_BY_ONE_WORKER, name_of, nodes_of, python_files, tree_of

pytestmark = READ_BY_ONE_WORKER

DOORS = {
    "fakemq/broker/acl/homes.py": "accounts: beside the file, then renamed",
    "fakemq/controller/log.py": "the controllers' log: at its end, or beside it, then renamed",
    "fakemq/files/regular.py": "opens files, and writes one anew",
    "fakemq/files/texts.py": "config files: beside the file, then renamed",
    "fakemq/store/directory_file.py": "bytes, times and flushes of a store's file",
    "fakemq/store/directory_files.py": "makes and deletes a store's files and folders",
    "fakemq/store/directory_lock.py": "the file `lock`",
    "fakemq/store/wrong_sizes.py": "makes a file that was half cut long again",
}
"""The modules that change files of a store, or the config files of a node."""
OTHERS = {
    "fakemq/client/consuming/offsets.py": "a client's offsets: beside the file, then renamed",
    "fakemq/journal/file.py": "the journal's file, which no start reads",
    "fakemq/serving/limits.py": "opens the null device",
    "fakemq/serving/ready.py": "the ready file: beside it, then renamed",
    "fakemq/sim/campaign.py": "deletes the stores of its own runs",
    "fakemq/sim/replay.py": "folders of its own",
    "fakemq/spark/audit/report/page.py": "a report",
    "fakemq/spark/audit/report/rows.py": "a report",
    "fakemq/tls/authority.py": "certificates in a folder of its own",
}
"""Modules that change other files."""

_SEEN = {*CHANGES, *SYNCS, "open", "makedirs"}
_METHODS = {
    *("write_text", "write_bytes", "touch", "unlink", "rmdir", "mkdir", "rename", "symlink_to"),
    *("hardlink_to",),
}
"""Methods of a path that change files."""
_FILE_CHANGERS = {"shutil", "tempfile", "fileinput"}
_READERS = {"get_terminal_size", "which", "disk_usage"}


def changes(tree: ast.Module) -> list[str]:
    """Return the calls that change files, or may."""
    return [text for node in nodes_of(tree) for text in _change(node)]


def _change(node: ast.AST) -> list[str]:
    match node:
        case ast.Attribute(ast.Name("os"), name) if name in (*_SEEN, *NOT_USED):
            return [f"os.{name}"]
        case ast.Attribute(ast.Name(module), name) if module in _FILE_CHANGERS:
            return [] if name in _READERS else [f"{module}.{name}"]
        case ast.ImportFrom(module="os" | "shutil" | "tempfile" as module):
            return [f"from {module} import"]
        case ast.Call(ast.Attribute(of, name)) if name in _METHODS:
            return [] if isinstance(of, ast.Name) and of.id == "os" else [f".{name}()"]
        case ast.Call(ast.Name("open")):
            modes = [*node.args[1:2], *(one.value for one in node.keywords if one.arg == "mode")]
            return ["open() to write"] if any(map(_may_write, modes)) else []
    return []


def _may_write(mode: ast.expr) -> bool:
    text = mode.value if isinstance(mode, ast.Constant) else "+"
    return not isinstance(text, str) or bool(set("wax+") & set(text))


@cache
def files_that_change_files() -> dict[str, list[str]]:
    """Return the calls that change files, by the module that has them."""
    paths = python_files("fakemq")
    return {name_of(path): found for path in paths if (found := changes(tree_of(path)))}


def test_only_some_modules_change_files() -> None:
    assert files_that_change_files().keys() == DOORS.keys() | OTHERS.keys()


@pytest.mark.parametrize("name", DOORS)
def test_change_of_a_store_is_a_call_that_kill_tests_see(name: str) -> None:
    seen = {f"os.{one}" for one in _SEEN}
    assert set(files_that_change_files()[name]) <= seen


@pytest.mark.parametrize(
    "text",
    [
        "os.truncate(path, 0)",
        "os.replace(a, b)",
        "shutil.rmtree(path)",
        "open(path, 'w')",
        "open(path, mode='r+b')",
        "open(path, how)",
        "Path(path).write_text('')",
        "self._path.parent.mkdir()",
        "from os import ftruncate",
    ],
)
def test_change_is_found(text: str) -> None:
    assert changes(ast.parse(text))


@pytest.mark.parametrize("text", ["open(path)", "open(path, 'rb')", "os.stat(path)"])
def test_reading_is_no_change(text: str) -> None:
    assert not changes(ast.parse(text))
