"""What the attack on stores takes for a silent loss."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.attack.mutations import NODE
from tests.attack.stores import Base, Stored, checked, started, write_base


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    return write_base(tmp_path_factory.mktemp("base") / "store", 2)


@pytest.fixture
def root(base: Base, tmp_path: Path) -> Path:
    return Path(shutil.copytree(base.root, tmp_path / "mutated"))


def zero_key(root: Path, one: Stored) -> None:
    """Write zeros over a unique key in the log."""
    for path in (root / NODE / "commitlog").iterdir():
        data = path.read_bytes()
        at = data.find(one.key.encode(), one.phy_offset - int(path.name))
        if one.phy_offset - int(path.name) in range(len(data)):
            path.write_bytes(data[:at] + bytes(len(one.key)) + data[at + len(one.key) :])


def silent(base: Base, root: Path) -> list[str]:
    return list(started(base, root, checked(root, [])))


def test_key_that_only_the_log_had_is_no_silent_loss(base: Base, root: Path) -> None:
    zero_key(root, next(one for one in base.stored if one.key))
    shutil.rmtree(root / NODE / "index")
    assert silent(base, root) == []


def test_key_that_is_in_the_log_must_be_found(
    base: Base, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(root / NODE / "index")
    assert silent(base, root) == [], "the index is made anew"
    monkeypatch.setattr("tests.attack.stores.not_found", lambda broker, one: "key")
    shutil.rmtree(root / NODE / "index")
    (line,) = silent(base, root)
    assert "lost silently, key" in line
