"""A missing or old PySpark is named in one line."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import fakemq.spark
from fakemq.spark import requirements

ROOT = Path(__file__).parents[2]


def have(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    def version(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(requirements, "version", version)


@pytest.mark.parametrize("missing", ["pyspark", "pyarrow", "numpy"])
def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    there = {"pyspark": "4.3.0", "pyarrow": "26.0.1", "numpy": "2.4.6"}
    del there[missing]
    have(monkeypatch, **there)
    with pytest.raises(ImportError) as caught:
        requirements.require_pyspark()
    assert str(caught.value) == f"fakemq.spark needs {missing}: pip install 'fakemq[spark]'"
    assert caught.value.name == missing


@pytest.mark.parametrize("old", ["3.5.9", "4.1.4", "4.1.0.dev3"])
def test_old_pyspark_is_refused(monkeypatch: pytest.MonkeyPatch, old: str) -> None:
    have(monkeypatch, pyspark=old, pyarrow="26.0.1", numpy="2.4.6")
    with pytest.raises(ImportError) as caught:
        fakemq.spark.register(None)  # type: ignore[arg-type]  # it is not looked at
    assert str(caught.value) == (
        f"fakemq.spark needs PySpark 4.2 or newer, and this is {old}: pip install 'fakemq[spark]'"
    )


@pytest.mark.parametrize("good", ["4.2.0", "4.2.0.dev1", "4.3.0", "4.10.0", "5.0.0"])
def test_oldest_and_newer_versions_are_accepted(monkeypatch: pytest.MonkeyPatch, good: str) -> None:
    have(monkeypatch, pyspark=good, pyarrow="26.0.1", numpy="2.4.6")
    requirements.require_pyspark()


def test_extra_begins_with_the_same_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = ".".join(map(str, requirements.OLDEST_PYSPARK))
    assert f"pyspark>={oldest},<5" in project["optional-dependencies"]["spark"]
