"""The import layout of the house: links, guards, exports, and a wheel that holds the tree."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import fakemq
from tests import release

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("folder", ["protocol", "fixtures"])
def test_links_are_links(folder: str) -> None:
    link = ROOT / "fakemq" / folder
    assert link.is_symlink(), "mypy and ruff need symbolic links, see CONTRIBUTING.md"
    assert link.resolve() == ROOT / folder


@pytest.mark.parametrize("folder", ["protocol", "fixtures"])
def test_folder_cannot_be_imported_by_its_bare_name(folder: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {folder}"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert f"import fakemq.{folder}, not {folder}" in done.stderr


def test_unknown_name_of_the_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Klaster'"):
        fakemq.Klaster  # noqa: B018


def test_importing_starts_nothing_and_patches_nothing() -> None:
    code = (
        "import sys, threading, time; before = time.time;"
        "import fakemq;"
        "assert time.time is before and threading.active_count() == 1;"
        "print(' '.join(m for m in ('asyncio','anyio','click','construct','freezegun','pytest')"
        " if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.slow  # over a second: it builds a wheel
@pytest.mark.parametrize("linked", [True, False], ids=["links", "text files"])
def test_wheel_has_the_files_of_the_tree(tmp_path: Path, linked: bool) -> None:
    build("wheel", copy_of_the_tree(tmp_path, linked=linked), tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("fakemq/")}
        assert not [n for n in archive.namelist() if n.startswith(("protocol/", "fixtures/"))]
    tree = {path for path in tracked("fakemq") if not path.endswith((".md",))}
    for folder in ("protocol", "fixtures"):
        tree |= {f"fakemq/{path}" for path in tracked(folder)}
    tree -= {"fakemq/protocol", "fakemq/fixtures"}
    assert packed == tree


@pytest.mark.slow  # over a second: it builds a source archive, and a wheel out of that
def test_wheel_of_a_clone_without_links_has_the_files_of_the_commit(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no git repository: there is nothing to clone")
    clone = tmp_path / "clone"
    link_less = ["git", "-c", "core.symlinks=false", "clone", "--quiet", "--depth=1"]
    subprocess.run([*link_less, ROOT.as_uri(), str(clone)], check=True)
    assert (clone / "fakemq" / "protocol").read_text() == "../protocol"
    build("sdist", clone, tmp_path)
    (source,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    build("wheel", tmp_path / source.name.removesuffix(".tar.gz"), tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    assert release.missing(wheel) == []


def build(kind: str, tree: Path, place: Path) -> None:
    """Build an archive by the hook that pip calls, without pip: nothing is downloaded."""
    code = f"from setuptools.build_meta import build_{kind}; build_{kind}({str(place)!r})"
    built = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr


def test_checkout_without_links_can_be_imported(tmp_path: Path) -> None:
    tree = copy_of_the_tree(tmp_path, linked=False)
    code = "import fakemq.protocol.bodies.queue, fakemq.fixtures.plugin as p; print(p.__file__)"
    done = imported(tree, code)
    assert done.stdout.strip() == str(tree / "fixtures" / "plugin.py"), done.stderr


def test_tree_without_the_protocol_is_refused_in_one_line(tmp_path: Path) -> None:
    import shutil

    tree = copy_of_the_tree(tmp_path, linked=False)
    shutil.rmtree(tree / "protocol")
    line = f"ImportError: fakemq in {tree / 'fakemq'} has no protocol/: "
    assert imported(tree, "import fakemq").stderr.splitlines()[-1].startswith(line)
    built = subprocess.run(
        [sys.executable, "setup.py", "--version"], cwd=tree, capture_output=True, text=True
    )
    assert built.returncode == 1
    assert built.stderr == "cannot build fakemq: protocol/ is missing beside setup.py\n"


def imported(tree: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a Python whose fakemq is that of ``tree``."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tree)!r}); {code}"],
        cwd=tree,
        capture_output=True,
        text=True,
    )


def tracked(folder: str) -> set[str]:
    """Source files of a folder as posix paths from the root."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and not path.relative_to(ROOT)
        .as_posix()
        .startswith(("fakemq/protocol/", "fakemq/fixtures/"))
    }


def copy_of_the_tree(tmp_path: Path, *, linked: bool) -> Path:
    """Copy the project without caches: building in the checkout would leave build/ behind.

    Without ``linked`` the links are text files with their target, as git writes them on Windows.
    """
    import shutil

    copy = tmp_path / "tree"
    ignore = shutil.ignore_patterns("__pycache__", ".*", "build", "dist", "*.egg-info", "tests")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=ignore)
    for folder in () if linked else ("protocol", "fixtures"):
        (copy / "fakemq" / folder).unlink()
        (copy / "fakemq" / folder).write_text(f"../{folder}")
    return copy
