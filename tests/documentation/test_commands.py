"""Commands and files for services of continuous integration, as pages show them, are right."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner

from fakemq.cli import main
from fakemq.client import Client
from tests.support.pages import DOCS, blocks

ROOT = DOCS.parent
CI = DOCS / "howto/ci.md"
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))
FIRST_RUN = ["pip install fakemq pytest", "pytest"]
_ENDS = {"&", "&&", "|", ";", ">", ")"}
"""What ends a command in a shell."""


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line of fakemq in the shell and YAML blocks of pages: page, arguments."""
    for page in PAGES:
        for block in (*blocks(page, "sh"), *blocks(page, "yaml")):
            for line in block.replace('sh -c "', "").splitlines():
                found = re.search(r"(?:^|python -m |\| )fakemq (.*)", line.strip())
                if found is not None:
                    yield page.name, _arguments(found[1].rstrip('"'))


def _arguments(text: str) -> list[str]:
    """Return the words up to a comment or to the end of the command."""
    parts = shlex.shlex(text, posix=True, punctuation_chars=True)
    parts.whitespace_split = True
    return [*takewhile(lambda word: word not in _ENDS, parts)]


COMMANDS = [*commands()]


def test_commands_are_found() -> None:
    assert len(COMMANDS) > 25


@pytest.mark.parametrize(("page", "words"), COMMANDS, ids=map(str, range(len(COMMANDS))))
def test_command_of_a_page_has_options_that_exist(
    page: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = next((word for word in words[:1] if not word.startswith("-")), "serve")
    command = main.get_command(click.Context(main), name)
    assert command is not None, f"{page}: no command {name}"
    monkeypatch.setattr(command, "callback", None)
    for word in words:  # a reader has the files and folders
        path = tmp_path / word
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(exist_ok=True) if word.isupper() or word.endswith("/") else path.touch()
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, f"{page}: {result.output}"


def services() -> list[Any]:
    """The YAML blocks of the page about continuous integration."""
    return [yaml.safe_load(block) for block in blocks(CI, "yaml")]


def test_workflow_uses_the_actions_of_our_own() -> None:
    own = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    workflow = services()[0]
    assert set(workflow) == {"name", True, "jobs"}  # YAML 1.1 reads "on" as a boolean
    (job,) = workflow["jobs"].values()
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert used
    assert all(f"uses: {action}\n" in own for action in used)
    assert [step["run"] for step in job["steps"] if "run" in step] == FIRST_RUN


def test_gitlab_job_installs_and_runs_the_same() -> None:
    (job,) = services()[1].values()
    assert job["script"] == FIRST_RUN


def test_cluster_beside_the_tests_is_ready_when_the_step_ends(tmp_path: Path) -> None:
    install, *rest = services()[2][0]["run"].splitlines()
    assert install == "pip install fakemq"
    # The ports of the page may be taken here.
    script = "\n".join(rest).replace("-m fakemq", "-m fakemq --namesrv-port 0 --broker-port 0")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    # As GitHub runs a step.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    subprocess.run(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, check=True, timeout=60
    )
    ready = json.loads((tmp_path / "ready.json").read_text())
    try:
        with Client(ready["namesrv"]) as client:
            assert len(client.publish_queues("orders")) == 8
    finally:
        os.kill(ready["pid"], signal.SIGTERM)


def test_composed_cluster_advertises_the_name_of_its_service() -> None:
    composed = services()[3]["services"]
    cluster, tests = composed["rocketmq"], composed["tests"]
    installing, _, command = shlex.split(cluster["command"])[2].partition(" && exec ")
    assert installing == "pip install fakemq"
    options = dict(pairwise(shlex.split(command)))
    assert options["--advertise"] == "rocketmq"
    assert options["--listen"] == "0.0.0.0"
    assert tests["depends_on"] == ["rocketmq"]
    assert tests["environment"] == {"ROCKETMQ_NAMESRV": "rocketmq:9876"}
