"""``python -m tests.on_wheel [ARGUMENT ...]``: run tests on the wheel instead of the checkout.

It builds the wheel as `make wheel` does, installs it in an environment of its own beside the
development tools of this one, and calls pytest with the arguments; without arguments, with a share
of the suite that meets every compiled module, in half a minute. Where nothing could be compiled,
the share is skipped. It ends with pytest's code. With ``FAKEMQ_TESTED_WHEEL`` in the environment it
takes that wheel and builds none: a build takes a minute or two.

The tests run in a copy of the checkout whose ``fakemq/``, ``protocol/`` and ``fixtures/`` are links
to what the wheel installed: nothing of this checkout's code is imported.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".cache" / "wheel"
FOLDERS = ("protocol", "fixtures")
"""At the top of a checkout, and in ``fakemq/`` of a wheel."""

OF_COMPILED = (
    *("tests/house/test_compiled.py", "tests/protocol", "tests/journal", "tests/clock"),
    *("tests/net", "tests/dispatch", "tests/store", "conformance/test_recordings.py"),
    "tests/test_follow_one_message.py",
)
"""The folders of the compiled modules, one message's path, and, for the broker's modules, all that
real brokers answered."""
OF_OTHERS = (
    *("tests/protocol/bodies", "tests/protocol/grpc", "tests/protocol/http2"),
    *("tests/protocol/layout/test_derive.py", "tests/protocol/layout/test_record_fields.py"),
    *("tests/protocol/test_fastjson.py", "tests/journal/test_search.py"),
    *("tests/net/test_grpc_channel.py", "tests/net/test_grpc_session.py"),
)
"""What these folders have of modules that are not compiled: the sources' tests are enough."""
SHARE = (
    *("-q", "-n", "auto", "-m", "not jvm and not slow", "--hypothesis-profile=few"),
    *("-o", "timeout=600"),  # it may run beside all other tests
    *OF_COMPILED,
    *(f"--ignore={path}" for path in OF_OTHERS),
)
"""What runs without arguments."""
OF_THE_CHECKOUT = (
    "--ignore=tests/house/test_package.py",
    "--deselect=tests/house/test_readme.py::test_page_names_only_files_that_exist",
)
"""Tests that look at the files of a checkout, which are other ones in a wheel."""


def build() -> Path:
    """Build the wheel and return its path."""
    shutil.rmtree(PLACE / "dist", ignore_errors=True)
    # setuptools would take what an earlier build left there.
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", PLACE / "dist", ROOT],
        env={"FAKEMQ_COMPILE": "auto", **os.environ},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    (wheel,) = (PLACE / "dist").glob("*.whl")
    return wheel


def install(wheel: Path) -> Path:
    """Make the environment anew, and return its Python."""
    folder = PLACE / "venv"
    venv.create(folder, clear=True, symlinks=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"),
            *("--disable-pip-version-check", wheel),
        ],
        check=True,
    )
    # Behind its own packages. The editable install there is not found: Python reads no .pth files
    # of a folder that a .pth file names.
    (site_packages(folder) / "development.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def site_packages(environment: Path) -> Path:
    """Return where an environment of this Python's version has its packages."""
    values = {"base": str(environment), "platbase": str(environment)}
    return Path(sysconfig.get_path("purelib", "venv", values))


def copy() -> Path:
    """Copy the checkout; links to the installed packages replace the sources. Return the copy."""
    place = PLACE / "tree"
    shutil.rmtree(place, ignore_errors=True)
    # With what pytest has made of the tests: they are compiled once.
    ignored = shutil.ignore_patterns(".[!g]*", ".git", "build", "dist", "*.egg-info")
    place.mkdir(parents=True)
    for entry in ROOT.iterdir():
        if entry.name in ignored(str(ROOT), [entry.name]) or entry.name in ("fakemq", *FOLDERS):
            continue
        if entry.is_dir():
            shutil.copytree(entry, place / entry.name, ignore=ignored, symlinks=True)
        else:
            shutil.copy2(entry, place)
    installed = site_packages(PLACE / "venv") / "fakemq"
    (place / "fakemq").symlink_to(installed)
    for name in FOLDERS:
        (place / name).symlink_to(installed / name)
    # What was downloaded for tests against real RocketMQ serves here, too.
    (place / ".cache").symlink_to(ROOT / ".cache")
    return place


def main() -> int:
    """Run the tests that the command line names on the wheel; return pytest's code."""
    os.environ.pop("PYTHONPATH", None)  # it would bring a checkout's code
    given = os.environ.get("FAKEMQ_TESTED_WHEEL")
    wheel = Path(given) if given else build()
    print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
    if wheel.name.endswith("-none-any.whl") and not sys.argv[1:]:
        print("the wheel is pure Python: the tests of the sources are enough")
        return 0
    python = install(wheel)
    tests = [python, "-m", "pytest", *OF_THE_CHECKOUT, *(sys.argv[1:] or SHARE)]
    environment = os.environ | {"FAKEMQ_TESTED_WHEEL": str(wheel)}
    return subprocess.run(tests, cwd=copy(), env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
