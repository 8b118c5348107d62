"""Conformance sees a broker from outside: over sockets, and as a test of a user sees it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.imports import RANK

FOLDER = Path(__file__).parent

VALUES = {"protocol", "errors", "events", "client"}
"""Layers below the handles that hold values and the wire's bytes, but no broker."""

EXCEPTIONS = {
    "fakemq.clock.machine_time": "reads the machine's clock; knows no cluster",
    "fakemq.core.views": "what handles return",
    "fakemq.dump": "reads a store directory; starts no broker",
    "fakemq.journal.journal": "how many events a journal keeps",
    "fakemq.journal.warnings": "how many warnings of one kind are logged",
    "fakemq.reference": "which codes of a release are out of scope, as data; starts no broker",
    "fakemq.store.stored_node": "reads a store directory; starts no broker",
    "fakemq.tls": "makes certificates and contexts of TLS; knows no cluster",
}
"""Module → why conformance may import it although it lies below the handles."""


BUILD = """
import sys
sys.modules |= dict.fromkeys(("pytest", "hypothesis", "grpc", "h2", "pyspark", "trio"))
import conformance.drivers.official_clients
"""
"""What .ci/run begins with while the packages of the development environment arrive."""


def imported(path: Path) -> Iterator[str]:
    """Every module of ours that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def is_inside(module: str) -> bool:
    """Return whether a module is a part of a broker, a name server or what they stand on."""
    package, _, rest = module.partition(".")
    part = rest.partition(".")[0]
    if package != "fakemq" or not part or part in VALUES:
        return False
    return RANK[part] < RANK["handles"] and not any(
        module == name or module.startswith(f"{name}.") for name in EXCEPTIONS
    )


def test_conformance_imports_nothing_below_handles_and_events() -> None:
    bad = [
        f"{path.relative_to(FOLDER)}: {module}"
        for path in sorted(FOLDER.rglob("*.py"))
        for module in imported(path)
        if is_inside(module)
    ]
    assert not bad


def test_clients_are_built_without_the_development_environment() -> None:
    command = [sys.executable, "-c", BUILD]
    done = subprocess.run(command, cwd=FOLDER.parent, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_inside_is_what_lies_below_the_handles() -> None:
    inside = [
        "fakemq.broker.pulling.pull",
        "fakemq.store",
        "fakemq.core.cluster",
        "fakemq.faults.plan",
    ]
    outside = ["fakemq", "fakemq.events", "fakemq.handles.faults", "fakemq.core.views", "socket"]
    assert [module for module in inside + outside if is_inside(module)] == inside
