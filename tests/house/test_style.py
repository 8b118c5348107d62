"""Style held by a test: sizes, docstrings, the homes of time and chance, one test per handler.

Sizes are aims, not laws: a file or function may be longer when a comment near its top says why:
``# Over 400 lines: <reason>`` or ``# Over 70 lines: <reason>``. Which module may import which is in
`test_layers`; absolute imports, stars and bare ignores are left to ruff and mypy.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.sources import (
    READ_BY_ONE_WORKER,
    is_generated,
    name_of,
    nodes_of,
    python_files,
    text_of,
    tree_of,
)

pytestmark = READ_BY_ONE_WORKER

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("fakemq", "protocol", "fixtures", "tests", "conformance", "bench")
FILE_LINES, FUNCTION_LINES = 400, 70
TOP_LINES = 30
"""How far down a reason is looked for."""

TEST_MODULE = re.compile("test_|conftest$")
RIDDLE = re.compile(r"test_(a|an|the|it|wh[ao]\w*|nobo\w+|or|so|then)_")
"""How a name begins that has no subject."""

READS_REAL_TIME = {"fakemq/clock/machine_time.py", "fakemq/serving/driver.py"}
DRAWS_RANDOMNESS = {"fakemq/randomness.py"}


Source = tuple[str, ast.Module, str]
"""A file's name, tree and text."""


def sources(*folders: str) -> Iterator[Source]:
    for folder in folders:
        yield from read(folder)


@cache
def read(folder: str) -> list[Source]:
    return [(name_of(path), tree_of(path), text_of(path)) for path in python_files(folder)]


def imported(tree: ast.Module) -> Iterator[str]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def says_why(lines: list[str], limit: int) -> bool:
    """Whether a comment near the top has a reason for more lines than the limit."""
    return any(re.match(rf"\s*# Over {limit} lines: \S", line) for line in lines[:TOP_LINES])


def test_long_file_says_why() -> None:
    long = {
        name: len(lines)
        for name, _, text in sources(*FOLDERS)
        if len(lines := text.splitlines()) > FILE_LINES
        and not is_generated(text)
        and not says_why(lines, FILE_LINES)
    }
    assert not long, f"split them, or write near the top: # Over {FILE_LINES} lines: <reason>"


def test_long_function_says_why() -> None:
    long = {}
    for name, tree, text in sources(*FOLDERS):
        if is_generated(text):
            continue
        for node in nodes_of(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
                if len(lines) > FUNCTION_LINES and not says_why(lines, FUNCTION_LINES):
                    long[f"{name}:{node.name}"] = len(lines)
    assert not long, f"split them, or write near the top: # Over {FUNCTION_LINES} lines: <reason>"


@pytest.mark.parametrize(
    ("module", "allowed"), [("time", READS_REAL_TIME), ("random", DRAWS_RANDOMNESS)]
)
def test_real_time_and_randomness_have_one_home_each(module: str, allowed: set[str]) -> None:
    bad = []
    for name, tree, _ in sources("fakemq", "protocol"):
        if name in allowed:
            continue
        for node in nodes_of(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == module
                and not (module == "random" and node.attr == "Random")
            ):
                bad.append(f"{name}:{node.lineno} {module}.{node.attr}")
    assert not bad, "ask the clock, or a stream of fakemq.randomness, instead"


def test_no_exception_is_a_constant() -> None:
    """Each raise adds to an exception's traceback, whose frames keep what they know."""
    bad = [
        f"{name}:{node.lineno}"
        for name, tree, _ in sources("fakemq", "protocol", "fixtures")
        for node in nodes_of(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name) and node.exc.id.isupper()
    ]
    assert not bad, "make the exception where it is raised"


def test_only_fastjson_imports_json() -> None:
    bad = [
        name
        for name, tree, _ in sources("fakemq", "protocol")
        if "json" in set(imported(tree)) and name != "protocol/fastjson.py"
    ]
    assert not bad, "fastjson is a dialect: use fakemq.protocol.fastjson"


def handlers() -> list[Path]:
    found = sorted(ROOT.glob("fakemq/**/handlers/*.py"))
    return [path for path in found if path.name != "__init__.py"]


def test_every_handler_says_where_its_behaviour_comes_from() -> None:
    bad = [
        path.relative_to(ROOT).as_posix()
        for path in handlers()
        if "Source:" not in (ast.get_docstring(tree_of(path)) or "")
    ]
    assert not bad


def test_every_handler_has_its_test_or_a_recording() -> None:
    recordings = (ROOT / "conformance" / "recordings").glob("*.*.*/*.txt")
    asked = re.compile(r"^\S.* -> .*  ([A-Z_0-9]+) \(", re.MULTILINE)
    recorded = {code for path in recordings for code in asked.findall(path.read_text("utf-8"))}
    missing = []
    for path in handlers():
        folder = path.parent.relative_to(ROOT / "fakemq")
        twin = ROOT / "tests" / folder / f"test_{path.stem}.py"
        if path.stem.upper() not in recorded and not twin.exists():
            missing.append(twin.relative_to(ROOT).as_posix())
    assert not missing


def test_every_file_opens_with_a_docstring() -> None:
    bad = [
        name
        for name, tree, text in sources(*FOLDERS)
        if text.strip() and not ast.get_docstring(tree)
    ]
    assert not bad, "a file says on top what it is for"


def test_no_test_module_is_imported() -> None:
    bad = [
        f"{name}: {module}"
        for name, tree, _ in sources("tests", "conformance", "bench")
        for module in sorted(set(imported(tree)))
        if module.startswith(("tests.", "conformance."))
        and any(map(TEST_MODULE.match, module.split(".")))
    ]
    assert not bad, "what tests share lies in tests/support"


def test_name_of_a_test_begins_with_its_subject() -> None:
    bad = [
        f"{name}:{node.lineno} {node.name}"
        for name, tree, _ in sources("tests")
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and RIDDLE.match(node.name)
    ]
    assert not bad, "test_<subject>_<does what>[_when_<condition>]"
