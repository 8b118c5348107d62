"""The programs of docs/grpc_clients.md run: one for each client, and a web service."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from conformance.drivers.builds import CACHE, run_to_end
from conformance.drivers.grpc_python_program import client_folder, installed
from conformance.drivers.official_clients import GO, NODE, RUST
from conformance.live.groups import WAITING
from conformance.live.toolchains import require
from conformance.targets.java_jars import NEWEST, class_path, missing_java
from conformance.targets.processes import FakemqProcess

# Slow: toolchains that build once, JVMs, and a client that is waited for.
pytestmark = [pytest.mark.slow, pytest.mark.jvm, pytest.mark.timeout(1200), WAITING]

ROOT = Path(__file__).parents[2]
CONFORMANCE = ROOT / "conformance"
PAGE = ROOT / "docs" / "grpc_clients.md"
WORKER = CONFORMANCE / "grpc_worker"
RUN_TIMEOUT_S = 100.0


def _python() -> Sequence[str]:
    return [sys.executable, str(CONFORMANCE / "grpc_python" / "recipe.py")]


def _java() -> Sequence[str]:
    return ["java", "-Xmx128m", "-cp", class_path(NEWEST, "grpc"), "conformance.GrpcRecipe"]


class Recipe(NamedTuple):
    """A program of the page."""

    language: str
    source: str
    missing: Callable[[], str | None]
    command: Callable[[], Sequence[str]]
    has_tls: bool = True


RECIPES = (
    Recipe("python", "grpc_python/recipe.py", lambda: None, _python),
    Recipe("java", "java/src/main/java/conformance/GrpcRecipe.java", missing_java, _java),
    Recipe("go", "grpc_go/recipe/main.go", GO.missing, lambda: GO.command("recipe")),
    Recipe("node", "grpc_node/recipe.cjs", NODE.missing, lambda: NODE.command("recipe.cjs")),
    Recipe(
        "rust", "grpc_rust/src/bin/recipe.rs", RUST.missing, lambda: RUST.command("recipe"), False
    ),
)
CASES = [
    pytest.param(one, way, id=f"{one.language} {way}")
    for one in RECIPES
    for way in ("plain", *(["tls"] if one.has_tls else []))
]


class Running(NamedTuple):
    """A fake with the topic of the recipes."""

    grpc_addr: str
    ca_file: str


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with FakemqProcess(
        *("--grpc-port", "0", "--namesrv-port", "0", "--broker-port", "0"),
        *("--topic", "greetings:1", "--tls", "permissive"),
    ) as process:
        found = re.search(r"tls permissive (\S+)", process.output())
        assert found
        yield Running(process.grpc_addr, found[1])


@pytest.mark.parametrize(("recipe", "way"), CASES)
def test_recipe_runs(running: Running, recipe: Recipe, way: str, tmp_path: Path) -> None:
    require(recipe.missing())
    environment = {
        "HOME": str(tmp_path),
        "PYTHONPATH": str(client_folder()),
        # Clients in Python and Node trust what the system trusts, and this file.
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": running.ca_file,
    }
    command = [*recipe.command(), running.grpc_addr, way]
    done = run_to_end(command, tmp_path, environment, RUN_TIMEOUT_S)
    lines = done.stdout.splitlines()
    assert [one for one in lines if one.startswith("received ")] == ["received hello"], done.stderr


def test_service_and_its_tests_run(tmp_path: Path) -> None:
    folders = (ROOT, client_folder(), installed(WORKER / "requirements.txt", CACHE / "grpc_worker"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(WORKER)]
    environment = {"HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(map(str, folders))}
    done = run_to_end(command, tmp_path, environment, 2 * RUN_TIMEOUT_S)
    assert "4 passed" in done.stdout, done.stdout[-4_000:]


def test_page_shows_the_programs_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    sources = [CONFORMANCE / one.source for one in RECIPES]
    for path in (*sources, WORKER / "payments.py", WORKER / "test_payments.py"):
        text = path.read_text(encoding="utf-8").removeprefix("package conformance;\n\n")
        assert f"\n{text}```" in page, path
