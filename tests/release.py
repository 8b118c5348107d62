"""``python -m tests.release [--check]``: build a release, check its archives, and tag it.

The version is that of pyproject.toml. First it is checked that all files are committed, that the
tag and the heading of CHANGELOG.md fit, and that no address is a placeholder. Then a clone of the
last commit is built in dist/, the wheel out of the source archive. Each archive is installed in an
environment of its own, where a new user's first tests, those of README and of the tutorial, run
outside the checkout. The tag stays here: nothing is pushed or uploaded.

``--check`` builds and tries the archives, and neither refuses nor tags anything.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

from tests.support.pages import blocks

ROOT = Path(__file__).parents[1]

FILES_TEST = """
from importlib.resources import files
from pathlib import Path

import fakemq
from fakemq.control import page

def test_files_that_are_no_modules():
    installed = files("fakemq")
    protos = installed / "protocol/grpc/protos/apache/rocketmq/v2"
    assert (installed / "py.typed").is_file()
    assert "rpc SendMessage" in (protos / "service.proto").read_text()
    assert "<html" in (installed / "control/pages/index.html.txt").read_text()
    assert Path("CHECKOUT") not in Path(fakemq.__file__).parents
"""
"""What an archive must pass in an empty folder; CHECKOUT is replaced by the checkout's path."""


def project() -> dict[str, Any]:
    """Return the table ``project`` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, Any] = table["project"]
    return found


def refusals(project: dict[str, Any], changelog: str, status: str, tags: list[str]) -> list[str]:
    """Return why there can be no release; none if there can.

    ``status`` is what ``git status --porcelain`` prints.
    """
    version = project["version"]
    found = []
    if status:
        found.append(f"files are not committed: {', '.join(status.split()[1::2])}")
    if f"v{version}" in tags:
        found.append(f"there is a tag v{version}: give pyproject.toml the next version")
    newest = re.search(r"^## (.*)$", changelog, re.MULTILINE)
    heading = newest[1] if newest else "none"
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", heading):
        found.append(
            f"CHANGELOG.md: the first heading is {heading!r};"
            f" expected '{version} (YYYY-MM-DD)', the day of the release"
        )
    for name, address in project.get("urls", {}).items():
        if ".example" in address:
            found.append(f"pyproject.toml: project.urls.{name} is a placeholder: {address}")
    return found


def git(*arguments: str) -> str:
    """Return what a git command prints in the checkout."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()


def build() -> tuple[Path, Path]:
    """Build a clone of the last commit in dist/; return the source archive and the wheel."""
    place = ROOT / "dist"
    shutil.rmtree(place, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        # As git writes it where there are no symbolic links: the archives must not depend on them.
        git("-c", "core.symlinks=false", "clone", "--quiet", "--no-hardlinks", str(ROOT), folder)
        builder = [sys.executable, "-m", "build", "--no-isolation", "-o", str(place), folder]
        subprocess.run(builder, stdout=subprocess.DEVNULL, check=True)
    (source,), (wheel,) = place.glob("*.tar.gz"), place.glob("*.whl")
    return source, wheel


def missing(wheel: Path) -> list[str]:
    """Return the files of the last commit that the wheel does not have."""
    listed = git("ls-tree", "-r", "--name-only", "HEAD", "fakemq", "protocol", "fixtures").split()
    wanted = {path if path.startswith("fakemq/") else f"fakemq/{path}" for path in listed}
    wanted -= {"fakemq/protocol", "fakemq/fixtures"}
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    return sorted(path for path in wanted - packed if not path.endswith(".md"))


def first_tests() -> dict[str, str]:
    """Return what a new user tries first, as files: the tests of README, and of the tutorial."""
    return {
        "test_readme.py": blocks(ROOT / "README.md")[0],
        "test_tutorial.py": "\n".join(blocks(ROOT / "docs" / "tutorial.md")),
    }


def try_out(archive: Path) -> None:
    """Run a user's first tests with an archive, in an environment and a folder of its own."""
    began_s = time.monotonic()
    # PYTHONPATH would bring a checkout's code.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        venv.create(f"{folder}/venv", symlinks=True, with_pip=True)
        python = f"{folder}/venv/bin/python"
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, str(archive), "pytest"], cwd=folder, env=environment, check=True)
        files = first_tests() | {"test_files.py": FILES_TEST.replace("CHECKOUT", str(ROOT))}
        for name, text in files.items():
            Path(folder, name).write_text(text)
        tests = [python, "-m", "pytest", "-q", *files]
        subprocess.run(tests, cwd=folder, env=environment, check=True)
    print(f"from nothing to tests that pass: {time.monotonic() - began_s:.0f} s", flush=True)


def main() -> None:
    """Release the version of pyproject.toml; exit with one line for each reason not to."""
    parser = argparse.ArgumentParser(prog="python -m tests.release")
    parser.add_argument("--check", action="store_true", help="build and try out; tag nothing")
    only_check = parser.parse_args().check
    found = project()
    if not only_check:
        changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        why = refusals(found, changelog, git("status", "--porcelain"), git("tag").split())
        if why:
            raise SystemExit("\n".join(f"no release: {one}" for one in why))
    source, wheel = build()
    if lost := missing(wheel):
        raise SystemExit(f"{wheel.name} lacks {', '.join(lost)}")
    for archive in (source, wheel):
        print(f"{archive.name}, {archive.stat().st_size / 1e6:.1f} MB", flush=True)
        try_out(archive)
    if not only_check:
        version = found["version"]
        git("tag", "--annotate", "--message", f"fakemq {version}", f"v{version}")
        print(f"tagged v{version}; next: git push origin v{version}, and upload dist/")


if __name__ == "__main__":
    main()
