"""``python -m tests.figures``: print how large the product is, and how often it says one thing.

Each figure is counted from the sources. tests/house/test_figures.py holds the most that it may be.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from statistics import median

from tests.support.sources import (
    ROOT,
    is_generated,
    name_of,
    nodes_of,
    python_files,
    text_of,
    tree_of,
)

RELEASE = re.compile(r"\d+_\d+_\d+")
SOCKETS = ("connect_ex", "create_connection", "open_connection", "start_tls", "wrap_bio")
"""Calls that only a transport makes."""
FUTURES = {"resolve", "set_result", "set_exception", "when_done", "add_done_callback", "then"}
"""Methods of a value that comes later: a class with one of them is such a type."""


def product() -> tuple[Path, ...]:
    """Return the files that a wheel has."""
    return tuple(
        path for folder in ("fakemq", "protocol", "fixtures") for path in python_files(folder)
    )


def lines_of(path: Path) -> int:
    """Return how many lines a file has."""
    return len(text_of(path).splitlines())


def by_hand() -> list[Path]:
    """Return the files of the product that no program writes."""
    return [path for path in product() if not is_generated(text_of(path))]


def loose() -> list[str]:
    """Return the modules in no folder, but for the package's own two."""
    found = (path.name for path in (ROOT / "fakemq").glob("*.py"))
    return sorted(name for name in found if not name.startswith("__"))


def named_twice() -> list[str]:
    """Return the names of public classes that two or more modules define."""
    names = Counter(
        node.name
        for path in product()
        for node in tree_of(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sorted(name for name, times in names.items() if times > 1)


def drivers() -> list[str]:
    """Return the functions that take a generator to its end step by step.

    They catch ``StopIteration``, and call ``send``, ``throw`` or ``next``.
    """
    return sorted(
        f"{name_of(path)}: {node.name}"
        for path in product()
        for node in nodes_of(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_driver(node)
    )


def later_types() -> list[str]:
    """Return the classes of a value that comes later."""
    return sorted(
        f"{name_of(path)}: {node.name}"
        for path in product()
        for node in nodes_of(tree_of(path))
        if isinstance(node, ast.ClassDef)
        and FUTURES & {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
        and not {"Protocol", "Enum"} & {ast.unparse(base) for base in node.bases}
    )


def transports() -> list[str]:
    """Return the folders of the client whose modules open connections."""
    places = {
        name_of(path.parent if path.parent.name != "client" else path)
        for path in python_files("fakemq/client")
        if any(
            isinstance(one, ast.Call) and _called(one) in SOCKETS for one in nodes_of(tree_of(path))
        )
    }
    return sorted(places)


def with_a_release() -> list[str]:
    """Return the files with the number of a release in their name."""
    return [name_of(path) for path in product() if RELEASE.search(name_of(path))]


def share_of_imports() -> float:
    """Return how many of 100 lines of code are imports."""
    imports = code = 0
    for path in product():
        for node in tree_of(path).body:
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            code += lines
            imports += lines if isinstance(node, ast.Import | ast.ImportFrom) else 0
    return 100 * imports / code


def figures() -> dict[str, float]:
    """Return each figure by its name."""
    sizes = sorted(map(lines_of, product()))
    return {
        "product files": len(sizes),
        "product lines": sum(sizes),
        "product lines written by hand": sum(map(lines_of, by_hand())),
        "median lines of a file": median(sizes),
        "lines of the largest file": sizes[-1],
        "modules in no folder": len(loose()),
        "public class names of two modules": len(named_twice()),
        "drivers of generators": len(drivers()),
        "types of later values": len(later_types()),
        "client transports": len(transports()),
        "files with a release in their name": len(with_a_release()),
        "import lines of 100 lines of code": round(share_of_imports(), 1),
    }


def _is_driver(function: ast.AST) -> bool:
    nodes = list(ast.walk(function))
    catches = any(
        isinstance(one, ast.ExceptHandler) and one.type and "StopIteration" in ast.unparse(one.type)
        for one in nodes
    )
    return catches and any(
        isinstance(one, ast.Call) and _called(one) in ("send", "throw", "next") for one in nodes
    )


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


if __name__ == "__main__":
    for name, figure in figures().items():
        print(f"{figure:>9,}  {name}")
    for title, found in (
        ("drivers of generators", drivers()),
        ("types of later values", later_types()),
        ("client transports", transports()),
        ("public class names of two modules", named_twice()),
    ):
        print(f"\n{title}:", *found, sep="\n  ")
