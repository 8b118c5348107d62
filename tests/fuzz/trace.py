"""Which lines of the modules under test an input reaches: what makes it worth keeping.

Atheris knows more, but only in its own process; this works in any, and without it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import walk_packages
from types import CodeType, FrameType, ModuleType
from typing import Any, TypeAlias

Edge: TypeAlias = tuple[int, int]

_FILE_LINES = 10_000


class Tracer:
    """Watches modules: ``name``, or ``package.*`` for all below it.

    A name without ``fakemq.`` is below ``fakemq.protocol``.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        files = (module.__file__ or "" for module in modules_of(names))
        self._first = {file: n * _FILE_LINES for n, file in enumerate(files, 1)}
        self._seen: dict[CodeType, int] = {}

    def edges(self, act: Callable[[], None]) -> set[Edge]:
        """Which line followed which in ``act``; what it raises reaches the caller."""
        edges: set[Edge] = set()
        previous = 0
        seen = self._seen

        def line(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal previous
            if event == "line":
                here = seen[frame.f_code] + frame.f_lineno
                edges.add((previous, here))
                previous = here
            return line

        def call(frame: FrameType, event: str, _: Any) -> Any:
            code = frame.f_code
            first = seen.get(code)
            if first is None:
                first = seen[code] = self._first.get(code.co_filename, 0)
            return line if first else None

        before = sys.gettrace()
        sys.settrace(call)
        try:
            act()
        finally:
            sys.settrace(before)
        return edges

    def coverage(self, edges: set[Edge]) -> dict[str, tuple[int, int]]:
        """By file, how many lines of its functions were reached, and how many there are."""
        reached = {here for _, here in edges}
        found = {}
        for file, first in self._first.items():
            lines = set(_lines_of(file))
            found[file] = sum(first + line in reached for line in lines), len(lines)
        return found


def modules_of(names: tuple[str, ...]) -> list[ModuleType]:
    """The modules that a target names, imported."""
    modules = []
    for name in names:
        package = import_module(_full_name(name).removesuffix(".*"))
        modules.append(package)
        if name.endswith(".*"):
            found = walk_packages(package.__path__, package.__name__ + ".")
            modules += [import_module(one.name) for one in found]
    return modules


def _full_name(name: str) -> str:
    return name if name.startswith("fakemq.") else f"fakemq.protocol.{name}"


def _lines_of(file: str) -> Iterator[int]:
    """The lines within functions: those of the module itself ran when it was imported."""
    with open(file, encoding="utf-8") as text:
        pending = [compile(text.read(), file, "exec")]
    while pending:
        code = pending.pop()
        pending += [one for one in code.co_consts if isinstance(one, CodeType)]
        if code.co_flags & 2:  # CO_NEWLOCALS: a function
            first = code.co_firstlineno
            yield from (line for _, _, line in code.co_lines() if line and line != first)
