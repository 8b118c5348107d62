"""The programs of docs/clients.md run, and so do the tests of projects in Java, Go and Node."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from conformance.drivers.builds import CACHE, run_to_end
from conformance.drivers.go_program import project_tests, recipe
from conformance.drivers.grpc_python_program import installed
from conformance.drivers.java_project import SOURCES as JAVA_SOURCES
from conformance.drivers.java_project import java_recipe, junit
from conformance.drivers.official_clients import NODE
from conformance.live.groups import WAITING
from conformance.live.toolchains import require
from conformance.targets.java_jars import CLIENT_VERSIONS
from conformance.targets.processes import FakemqProcess
from tests.support.pages import blocks

# Slow: JVMs and toolchains; each test waits for one client.
pytestmark = [pytest.mark.slow, pytest.mark.jvm, WAITING]

ROOT = Path(__file__).parents[2]
CONFORMANCE = ROOT / "conformance"
PYTHON = CONFORMANCE / "python_cpp"
GO = CONFORMANCE / "go"
RUN_TIMEOUT_S = 100.0
SHOWN = {
    "clients.md": (PYTHON / "recipe.py", JAVA_SOURCES / "Recipe.java", GO / "recipe/main.go"),
    "howto/languages.md": (
        *(JAVA_SOURCES / "FakemqCluster.java", JAVA_SOURCES / "ShopTest.java"),
        *(JAVA_SOURCES / "Shop.java", GO / "project/shop_test.go"),
        CONFORMANCE / "grpc_node/project.test.cjs",
    ),
    "howto/embedded.md": (JAVA_SOURCES / "EmbeddedShopTest.java",),
}
"""Page → the files that it shows."""


def test_pages_show_the_programs_as_they_are() -> None:
    for page, paths in SHOWN.items():
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        for path in paths:
            assert f"\n{path.read_text(encoding='utf-8')}```" in text, f"{page}: {path.name}"


def test_pages_show_no_other_programs() -> None:
    sources = [path.read_text(encoding="utf-8") for paths in SHOWN.values() for path in paths]
    for page in SHOWN:
        for language in ("java", "go", "js"):
            for block in blocks(ROOT / "docs" / page, language):
                assert any(block in source for source in sources), f"{page}: {block}"


@pytest.fixture
def namesrv_addr() -> Iterator[str]:
    ports = ("--namesrv-port", "0", "--broker-port", "0")
    with FakemqProcess(*ports, "--topic", "greetings:1") as process:
        yield process.namesrv_addr


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_recipe_of_the_java_client_runs(
    java: None, namesrv_addr: str, tmp_path: Path, version: str
) -> None:
    assert received([*java_recipe(version), namesrv_addr], tmp_path) == ["received hello"]


def test_recipe_of_the_go_client_runs(go: None, namesrv_addr: str, tmp_path: Path) -> None:
    command = [str(recipe()), namesrv_addr]
    assert received(command, tmp_path, ROCKETMQ_GO_LOG_LEVEL="error") == ["received hello"]


@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="the package rocketmq has its C++ library for Linux on x86-64 only",
)
def test_recipe_of_the_python_client_with_the_cpp_library_runs(
    namesrv_addr: str, tmp_path: Path
) -> None:
    folder = installed(PYTHON / "requirements.txt", CACHE / "python_cpp")
    command = [sys.executable, str(PYTHON / "recipe.py"), namesrv_addr]
    assert received(command, tmp_path, PYTHONPATH=str(folder)) == ["received hello"]


@pytest.mark.parametrize(("test", "count"), [("ShopTest", 2), ("EmbeddedShopTest", 1)])
def test_tests_of_the_java_project_pass(java: None, tmp_path: Path, test: str, count: int) -> None:
    printed = run(junit(test), tmp_path, of_user(tmp_path))
    assert f"{count} tests successful" in printed
    assert "0 tests failed" in printed


def test_tests_of_the_go_project_pass(go: None, tmp_path: Path) -> None:
    command, folder, variables = project_tests()
    assert "--- PASS: Test" in run(command, folder, {**of_user(tmp_path), **variables})


def test_tests_of_the_node_project_pass(tmp_path: Path) -> None:
    require(NODE.missing())
    _, program = NODE.command("project.test.cjs")
    assert "# pass 1" in run(
        ["node", "--test", "--test-force-exit", program], tmp_path, of_user(tmp_path)
    )


def of_user(home: Path) -> dict[str, str]:
    """Return the variables of a user whose ``python3`` has fakemq."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"HOME": str(home), "PATH": path, "PYTHONPATH": str(ROOT)}


def received(command: Sequence[str], home: Path, **environment: str) -> list[str]:
    """Return what a recipe says that it has received."""
    printed = run(command, home, {"HOME": str(home)} | environment)
    return [line for line in printed.splitlines() if line.startswith("received ")]


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    """Return what a program prints; fail if it does not end well."""
    done = run_to_end(command, folder, environment, RUN_TIMEOUT_S)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
    return done.stdout
