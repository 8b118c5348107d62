"""Would tests that are to go be missed? Small changes of the modules that they test tell it.

``python -m tests.support.mutants fakemq/broker/sending/send.py --without FILE -- tests/broker``
runs pytest with what stands behind ``--``. FILE has the tests to go, a line each, as pytest names
them, without parameters. Each mutant has one change: a comparison that is another one, another
constant, a condition that is negated, a statement that is gone. It runs in a fork of the process
that has collected the tests: first with those to go that call its function; if one notices it, with
the others until one does. The report lists the mutants that only tests to go notice.

Code outside functions has no mutants.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import os
import select
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Final, NamedTuple

import pytest

from tests.support.sources import ROOT
from tests.support.twins import TWINS

_OTHER: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_DROPPED = (ast.Raise, ast.AugAssign, ast.Delete)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Place = tuple[str, str]
"""A file, and the name of a function in it."""


class Mutant(NamedTuple):
    place: _Place
    line: int
    change: str
    codes: dict[_Place, CodeType]

    def with_twin(self, twin: Mutant) -> Mutant:
        return self._replace(codes=self.codes | twin.codes)


def mutants(path: str) -> Iterator[Mutant]:
    """Yield the mutants of all functions of a module; its twin, if it has one, changes with it."""
    if twin := TWINS.get(path):
        yield from map(Mutant.with_twin, _mutants(path), _mutants(twin))
    else:
        yield from _mutants(path)


def _mutants(path: str) -> Iterator[Mutant]:
    text = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    for name, function in _functions(tree, ""):
        body = function.body
        for number in range(len(list(_inner(body)))):
            for mutated in _mutations(list(_inner(body))[number]):
                kept = copy.deepcopy(body)
                node = list(_inner(function.body))[number]
                line = getattr(node, "lineno", function.lineno)
                before = ast.unparse(node)
                mutated(node)
                change = f"{before} -> {ast.unparse(node)}".replace("\n", " ")
                code = _code(compile(ast.fix_missing_locations(tree), path, "exec"), name)
                yield Mutant((path, name), line, change[:100], {(path, name): code})
                function.body = body = kept


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


def _inner(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield what a mutation may change: no text that only describes, and no annotation."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        yield node
        left_out = (getattr(node, "annotation", None), getattr(node, "returns", None))
        todo += [one for one in ast.iter_child_nodes(node) if one not in left_out]


def _mutations(node: ast.AST) -> Iterator[Callable[[ast.AST], None]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER:
        yield lambda one: one.ops.__setitem__(0, _OTHER[type(one.ops[0])]())  # type: ignore[attr-defined]
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in _OTHER:
        yield lambda one: setattr(one, "op", _OTHER[type(one.op)]())  # type: ignore[attr-defined]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | str):
        yield lambda one: setattr(one, "value", _another(one.value))  # type: ignore[attr-defined]
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield _negate
    elif _may_go(node):
        yield _drop


def _may_go(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return not isinstance(node.targets[0], ast.Name | ast.Tuple)
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Yield | ast.YieldFrom)
    return isinstance(node, _DROPPED)


def _another(value: bool | int | str) -> bool | int | str:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else f"{value}~"


def _negate(node: ast.AST) -> None:
    test: ast.expr = vars(node)["test"]
    vars(node)["test"] = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _drop(node: ast.AST) -> None:
    kept = ast.copy_location(ast.Pass(), node)
    node.__class__ = ast.Pass
    vars(node).clear()
    vars(node).update(vars(kept))


def _code(module: CodeType, name: str) -> CodeType:
    (found,) = [one for one in _codes(module) if one.co_qualname == name][-1:]
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)


class Judge:
    """Runs the collected tests in forks, with and without mutants."""

    def __init__(self, paths: list[str], to_go: set[str], limit_s: float) -> None:
        self._paths = paths
        all_paths = {*paths, *(TWINS[one] for one in paths if one in TWINS)}
        self._files = {os.path.realpath(ROOT / path): path for path in all_paths}
        self._to_go = to_go
        self._limit_s = limit_s

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        functions = self._known_functions()
        callers, seconds = self._called(session.items)
        noticed = missed = 0
        for one in (mutant for path in self._paths for mutant in mutants(path)):
            calling = set().union(*(callers[place] for place in one.codes))
            items = [item for item in session.items if item.nodeid in calling]
            items.sort(key=lambda item: seconds[item.nodeid])
            to_go = [item for item in items if self._is_to_go(item)]
            if not to_go:
                continue
            others = [item for item in items if not self._is_to_go(item)]
            changed = [(had, code) for at, code in one.codes.items() for had in functions[at]]
            usual_s = sum(seconds[item.nodeid] for item in items)
            said = self._forked(partial(_try, changed, to_go, others), self._limit_s + 3 * usual_s)
            noticed += bool(said)
            if said == ["by one to go", "by none"]:
                missed += 1
                print(f"missed: {one.place[0]}:{one.line} {one.change}", flush=True)
        gone = sum(map(self._is_to_go, session.items))
        gone_s = sum(seconds.get(item.nodeid, 0) for item in session.items if self._is_to_go(item))
        print(f"{gone} tests of {gone_s:.1f} s notice {noticed} mutants, {missed} of them alone")
        return True

    def _is_to_go(self, item: pytest.Item) -> bool:
        return item.nodeid.partition("[")[0] in self._to_go

    def _known_functions(self) -> dict[_Place, list[FunctionType]]:
        found = defaultdict(list)
        for path in self._files.values():
            import_module(name_of_module(path))
        gc.unfreeze()  # what is frozen is not listed
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and (place := self._place(one.__code__)):
                found[place].append(one)
        return found

    def _place(self, code: CodeType) -> _Place | None:
        path = self._files.get(os.path.realpath(code.co_filename))
        return path and (path, code.co_qualname)  # type: ignore[return-value]

    def _called(self, items: list[pytest.Item]) -> tuple[dict[_Place, set[str]], dict[str, float]]:
        """Return the tests that call each function, if they pass, and how long each takes."""
        places: dict[CodeType, _Place | None] = {}

        def run(say: Callable[[str], None]) -> None:
            now: set[_Place] = set()

            def called(frame: FrameType, event: str, _: object) -> None:
                code = frame.f_code
                if code not in places:
                    places[code] = self._place(code)
                if place := places[code]:
                    now.add(place)

            for item, following in pairwise([*items, None]):
                assert item is not None
                now.clear()
                began = time.perf_counter()
                threading.settrace(called)
                sys.settrace(called)
                failed = _failed(item, following)
                sys.settrace(None)
                for path, name in () if failed else now:
                    say(f"{path} {name} {time.perf_counter() - began} {item.nodeid}")

        callers: dict[_Place, set[str]] = defaultdict(set)
        seconds: dict[str, float] = {}
        for path, name, taken_s, test in (one.split(" ", 3) for one in self._forked(run, 3_600)):
            callers[path, name].add(test)
            seconds[test] = float(taken_s)
        return callers, seconds

    @staticmethod
    def _forked(work: Callable[[Callable[[str], None]], None], limit_s: float) -> list[str]:
        """Return what a fork said, until it ended or its time was over."""
        ours, its = os.pipe()
        if not (pid := os.fork()):
            with suppress(BaseException):
                work(lambda text: void(os.write(its, f"{text}\0".encode())))
            os._exit(0)
        os.close(its)
        until = time.monotonic() + limit_s
        data = b""
        with os.fdopen(ours, "rb", buffering=0) as pipe:
            while select.select([pipe], [], [], max(0, until - time.monotonic()))[0]:
                if not (more := pipe.read(65_536)):
                    break
                data += more
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return data.decode().split("\0")[:-1]


def name_of_module(path: str) -> str:
    """Return the name by which programs import a module."""
    name = path.removesuffix(".py").replace("/", ".")
    return name if name.startswith("fakemq.") else f"fakemq.{name}"


def void(_: object) -> None:
    """Take what a call returns and nothing needs."""


def _try(
    changed: list[tuple[FunctionType, CodeType]],
    to_go: list[pytest.Item],
    others: list[pytest.Item],
    say: Callable[[str], None],
) -> None:
    with suppress(ValueError):  # raised if the mutant has other free variables
        for function, code in changed:
            function.__code__ = code
    if _one_fails(to_go):
        say("by one to go")
        say("by another" if _one_fails(others) else "by none")


def _one_fails(items: list[pytest.Item]) -> bool:
    return any(_failed(one, following) for one, following in pairwise([*items, None]) if one)


def _failed(item: pytest.Item, following: pytest.Item | None) -> bool:
    from _pytest.runner import runtestprotocol

    reports = runtestprotocol(item, log=False, nextitem=following)
    return any(one.failed for one in reports)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.mutants")
    parser.add_argument("modules", nargs="+", help="paths, from the root of the tree")
    parser.add_argument("--without", type=Path, required=True, help="a file of tests to go")
    parser.add_argument("--limit-s", type=float, default=10, help="for each mutant")
    end = sys.argv.index("--")
    chosen = parser.parse_args(sys.argv[1:end])
    to_go = set(chosen.without.read_text(encoding="utf-8").split())
    judge = Judge(chosen.modules, to_go, chosen.limit_s)
    os.chdir(ROOT)
    pytest.main(["-qs", "-p", "no:cacheprovider", *sys.argv[end + 1 :]], [judge])


if __name__ == "__main__":
    main()
