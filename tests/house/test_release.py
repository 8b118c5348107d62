"""What stops a release, the lowest versions that are named, and the versions of Python."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import fakemq
from fakemq.cli import main
from fakemq.commands.serve import serve
from fakemq.config.layout import BROKER_PORT
from fakemq.config.spec import NAMESRV_PORT
from tests import on_lowest, release

PROJECT = {"version": "1.2.0", "urls": {"Source": "https://fakemq.org/source"}}
CHANGELOG = "# Changelog\n\n## 1.2.0 (2030-01-31)\n\n## 1.1.0 (2029-01-31)\n"


def test_release_of_a_prepared_version_is_not_refused() -> None:
    assert release.refusals(PROJECT, CHANGELOG, "", ["v1.1.0"]) == []


def test_release_names_each_reason_against_it() -> None:
    project = {"version": "1.2.0", "urls": {"Source": "https://fakemq.example/source"}}
    status = " M README.md\n?? notes.txt"
    assert release.refusals(project, "## Unreleased\n\n## 1.2.0\n", status, ["v1.2.0"]) == [
        "files are not committed: README.md, notes.txt",
        "there is a tag v1.2.0: give pyproject.toml the next version",
        (
            "CHANGELOG.md: the first heading is 'Unreleased';"
            " expected '1.2.0 (YYYY-MM-DD)', the day of the release"
        ),
        "pyproject.toml: project.urls.Source is a placeholder: https://fakemq.example/source",
    ]


def test_lowest_versions_are_those_of_the_project() -> None:
    pins = on_lowest.pins()
    names = [pin.partition("==")[0] for pin in pins]
    assert len(set(names)) == len(names)
    assert {"anyio", "click", "construct", "freezegun", "msgspec", "pyyaml", "trustme"} < set(names)
    given = ["pyspark>=4.2,<5", "uvloop>=0.19; sys_platform != 'win32'", "fakemq[tls]"]
    assert on_lowest.lowest(given) == ["pyspark==4.2", "uvloop==0.19"]
    with pytest.raises(SystemExit, match="'anyio' names no lowest version"):
        on_lowest.lowest(["anyio"])


def test_version_is_the_same_everywhere() -> None:
    assert release.project()["version"] == fakemq.__version__


def test_archive_is_tried_without_the_code_of_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    environments: list[dict[str, str]] = []

    def run(*_: object, env: dict[str, str], **__: object) -> None:
        environments.append(env)

    monkeypatch.setenv("PYTHONPATH", str(release.ROOT))
    monkeypatch.setenv("PIP_INDEX_URL", "https://fakemq.example/simple")
    monkeypatch.setattr("subprocess.run", run)
    monkeypatch.setattr("venv.create", lambda *_, **__: None)
    release.try_out(Path("fakemq.whl"))
    assert len(environments) == 2
    for one in environments:
        assert "PYTHONPATH" not in one
        assert one["PIP_INDEX_URL"] == "https://fakemq.example/simple"


def test_first_tests_are_those_of_readme_and_tutorial() -> None:
    counts = {name: text.count("def test_") for name, text in release.first_tests().items()}
    assert counts == {"test_readme.py": 2, "test_tutorial.py": 8}


def test_image_has_a_supported_python_known_extras_and_a_command_that_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = release.project()
    text = (release.ROOT / "Containerfile").read_text(encoding="utf-8")
    versions = set(re.findall(r"^FROM \S+/python:([\d.]+)-", text, re.MULTILINE))
    assert versions <= {*re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))}
    (extras,) = re.findall(r"\.whl\)\[([\w,]+)\]", text)
    assert {*extras.split(",")} <= {*project["optional-dependencies"]}
    (exposed,) = re.findall(r"^EXPOSE (.*)$", text, re.MULTILINE)
    assert [int(port) for port in exposed.split()] == [NAMESRV_PORT, BROKER_PORT - 2, BROKER_PORT]
    monkeypatch.setattr(serve, "callback", None)
    (words,) = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    assert CliRunner().invoke(main, json.loads(words)).exit_code == 0


def test_each_supported_python_is_tested() -> None:
    project = release.project()
    supported = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    path = release.ROOT / ".github" / "workflows" / "tests.yml"
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == supported
    assert project["requires-python"] == f">={supported[0]}"
    assert jobs["tests"]["steps"][-1] == {"run": ".ci/run"}
