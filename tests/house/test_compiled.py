"""The compiled wheel: what it has, and that it is as good to its user as the sources.

Tests of the wheel need one: `python -m tests.on_wheel` builds it and runs them there.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pickle
import subprocess
import sys
import traceback
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import fakemq
from fakemq.events.core import HandlerFailed
from fakemq.protocol import native
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.frame import frame_bytes
from tests.on_wheel import OF_COMPILED, OF_OTHERS
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.compiled import MODULES
from tests.support.sources import READ_BY_ONE_WORKER, name_of, nodes_of, python_files, tree_of

ROOT = Path(__file__).parents[2]
WHEEL = os.environ.get("FAKEMQ_TESTED_WHEEL", "")
SUFFIX = EXTENSION_SUFFIXES[0]

on_wheel = pytest.mark.skipif(not WHEEL, reason="tests.on_wheel runs it on a wheel")
on_compiled = pytest.mark.skipif(
    not WHEEL or "-none-any" in WHEEL, reason="tests.on_wheel runs it on a compiled wheel"
)


def source_of(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


def test_share_of_the_suite_names_only_paths_that_exist() -> None:
    """pytest says nothing of a path that it is to ignore and that is not there."""
    assert [path for path in (*OF_COMPILED, *OF_OTHERS) if not Path(ROOT, path).exists()] == []


def test_modules_beside_compiled_ones_refer_to_nothing_weakly() -> None:
    """An object of a compiled class can have no weak reference: an attribute of it will do."""
    folders = {source_of(module).parent.relative_to(ROOT).parts[:2] for module in MODULES}
    found = [
        name_of(path)
        for parts in sorted(folders)
        for path in ROOT.joinpath(*parts).resolve().rglob("*.py")
        if any(
            isinstance(node, ast.Import | ast.ImportFrom) and "weakref" in ast.unparse(node)
            for node in nodes_of(tree_of(path))
        )
    ]
    assert not found


@pytest.mark.skipif(bool(WHEEL), reason="it reads the sources of a checkout")
@READ_BY_ONE_WORKER
def test_subclass_of_a_compiled_class_is_compiled_too() -> None:
    """Python refuses any other: a reference whose broker is left out could not start."""
    native = {
        f"{module}.{node.name}"
        for module in MODULES
        for node in tree_of(source_of(module)).body
        if isinstance(node, ast.ClassDef)
    }
    assert native_subclasses(native, outside=set()) > {"fakemq.broker.v5.broker.Broker5"}
    assert not native_subclasses(native, outside=set(MODULES))


def native_subclasses(native: set[str], *, outside: set[str]) -> set[str]:
    """Return the classes with a base in ``native`` that another module has."""
    found = set()
    for path in python_files("fakemq"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        tree = tree_of(path)
        imported = {
            one.asname or one.name: f"{node.module}.{one.name}"
            for node in nodes_of(tree)
            if isinstance(node, ast.ImportFrom)
            for one in node.names
        }
        found |= {
            f"{module}.{node.name}"
            for node in tree.body
            if isinstance(node, ast.ClassDef)
            and module not in outside
            and any(
                imported.get(ast.unparse(base).partition("[")[0]) in native for base in node.bases
            )
        }
    return found


def test_list_is_sorted() -> None:
    assert sorted(MODULES) == MODULES


@pytest.mark.parametrize("module", MODULES)
def test_listed_module_has_nothing_that_a_compiler_changes(module: str) -> None:
    """See docs/compiled.md for the reasons."""
    found = []
    for node in ast.walk(ast.parse(source_of(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            found += [ast.unparse(base) for base in node.bases if "Struct" in ast.unparse(base)]
            found += [one.name for one in methods(node) if one.name in _DYNAMIC]
            names = {one.name for one in methods(node)}
            if names & {"__lt__", "__eq__"} and "__hash__" not in names:
                found.append(f"{node.name} has no __hash__ of its own")
        elif isinstance(node, ast.Attribute) and node.attr in ("__dict__", "__new__"):
            found.append(node.attr)
        elif isinstance(node, ast.Name) and node.id in ("vars", "staticmethod"):
            found.append(node.id)
    assert found == []


@pytest.mark.parametrize("module", MODULES)
def test_constant_of_listed_module_is_final(module: str) -> None:
    """A compiled function reads any other name of its module from a dictionary, each time."""
    tree = ast.parse(source_of(module).read_text(encoding="utf-8"))
    read = {
        name.id
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for name in ast.walk(function)
        if isinstance(name, ast.Name)
    }
    assigned = set[str]()
    for node in tree.body:
        if isinstance(node, ast.Assign) and not is_type(node.value):
            names = [name for target in node.targets for name in ast.walk(target)]
            assigned |= {name.id for name in names if isinstance(name, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            kind = ast.unparse(node.annotation)
            assigned |= set() if kind.startswith(("Final", "TypeAlias")) else {node.target.id}
    assert assigned & read <= _SET_BY_TESTS


_SET_BY_TESTS = {"STEP_ENTRIES", "_flush"}


def is_type(value: ast.expr) -> bool:
    return ast.unparse(value).startswith(("TypeVar(", "Callable["))


_DYNAMIC = {"__getattr__", "__getattribute__", "__setattr__", "__init_subclass__"}


def methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [one for one in node.body if isinstance(one, ast.FunctionDef)]


def extensions(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Print how many extensions setup.py declares for a command."""
    code = (
        "import setuptools, sys; sys.argv = ['setup.py', sys.argv[1]];"
        "setuptools.setup = lambda **given: print(len(given['ext_modules']));"
        "exec(compile(open('setup.py').read(), 'setup.py', 'exec'))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, command],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("command", ["editable_wheel", "sdist", "build_ext"])
def test_only_wheels_are_compiled(command: str) -> None:
    done = extensions(command, FAKEMQ_COMPILE="always")
    assert done.stdout == "0\n", done.stderr


def test_wheel_is_pure_unless_it_is_asked_for() -> None:
    assert extensions("bdist_wheel", FAKEMQ_COMPILE="").stdout == "0\n"


def test_wheel_is_pure_without_a_compiler() -> None:
    done = extensions("bdist_wheel", FAKEMQ_COMPILE="auto", CC="no-such-compiler")
    assert done.stdout == "0\n"
    assert done.stderr.startswith("fakemq stays pure Python: no C compiler: ")


def test_wheel_that_must_be_compiled_is_refused_without_a_compiler() -> None:
    done = extensions("bdist_wheel", FAKEMQ_COMPILE="always", CC="no-such-compiler")
    assert done.returncode == 1
    assert done.stderr.startswith("cannot compile fakemq: no C compiler: ")


def test_unknown_wish_is_refused() -> None:
    done = extensions("bdist_wheel", FAKEMQ_COMPILE="yes")
    assert done.stderr == "FAKEMQ_COMPILE=yes: auto and always are known\n"
    done = extensions("bdist_wheel", FAKEMQ_COMPILE="auto", FAKEMQ_OPTIMIZE="fast")
    assert done.stderr == "FAKEMQ_OPTIMIZE=fast: 0, 1, 2, 3 are known\n"


@on_compiled
def test_wheel_has_a_library_for_each_listed_module_beside_its_source() -> None:
    with zipfile.ZipFile(WHEEL) as archive:
        names = set(archive.namelist())
    paths = [name.replace(".", "/") for name in MODULES]
    assert {name for name in names if name.endswith(SUFFIX)} == {
        f"{path}{SUFFIX}" for path in [*paths, "fakemq/protocol/speedups", "fakemq__mypyc"]
    }
    assert {f"{path}.py" for path in paths} <= names


@on_compiled
def test_functions_in_c_are_in_use() -> None:
    functions = (native.usual_frames, native.plain_properties, native.record)
    assert [type(function).__name__ for function in functions] == ["builtin_function_or_method"] * 3


@pytest.mark.skipif(bool(WHEEL), reason="it looks at the files of a checkout")
def test_source_in_c_is_one_file_of_at_most_400_lines() -> None:
    folders = ("fakemq", "protocol", "fixtures", "tests", "conformance", "bench")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.c")]
    assert [path.relative_to(ROOT).as_posix() for path in found] == ["protocol/speedups.c"]
    assert len(found[0].read_text(encoding="utf-8").splitlines()) <= 400


@on_wheel
def test_wheel_is_small() -> None:
    assert Path(WHEEL).stat().st_size < 10_000_000


@on_compiled
@pytest.mark.parametrize("module", MODULES)
def test_listed_module_is_the_compiled_one(module: str) -> None:
    found = importlib.import_module(module).__file__ or ""
    assert found.endswith(SUFFIX)


@on_wheel
def test_traceback_has_the_lines_of_the_source() -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        frame_bytes(b"\0\0\0\0")
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    source = source_of("fakemq.protocol.frame").read_text(encoding="utf-8").splitlines()
    assert last.name == "frame_bytes"
    assert last.filename.endswith("fakemq/protocol/frame.py")
    assert last.lineno is not None
    assert source[last.lineno - 1].strip().startswith("raise RemoteProtocolError(")
    assert last.line == source[last.lineno - 1].strip()


@on_wheel
def test_bug_is_journaled_with_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = BrokerLab()
    broker = lab.broker()
    peer = lab.peer(broker.addr)
    peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(), b"one")
    monkeypatch.setattr("fakemq.broker.sending.send.parse_bool", None)
    delayed = send_header(properties="DELAY\x011\x02WAIT\x01no")
    response = peer.ask(RequestCode.SEND_MESSAGE_V2, delayed, b"two")
    assert response.code == ResponseCode.SYSTEM_ERROR
    (failed,) = lab.journal.find(HandlerFailed)
    assert "fakemq/broker/sending/send.py" in failed.traceback
    assert "in _message" in failed.traceback
    assert "or parse_bool(wait)" in failed.traceback


@on_wheel
def test_first_tests_of_the_readme_pass(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (tmp_path / "test_first.py").write_text(text.partition("```python\n")[2].partition("```")[0])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr


@on_wheel
def test_entries_of_the_journal_can_be_pickled() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as mq:
        mq.seed("orders", [b"one"])
        kept = mq.journal.tail(5)
        assert pickle.loads(pickle.dumps(kept)) == kept


def test_users_see_signatures_and_the_source_of_a_cluster() -> None:
    assert "\nclass Cluster(" in "\n" + inspect.getsource(fakemq.Cluster)
    assert list(inspect.signature(frame_bytes).parameters) == ["length_word"]
