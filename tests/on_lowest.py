"""``python -m tests.on_lowest [ARGUMENT ...]``: run tests with the oldest dependencies allowed.

It makes an environment with the lowest versions that pyproject.toml names, for fakemq, its extras
without Spark, and what runs the tests; other packages that these need are as new as pip finds
them. Then it calls pytest with the arguments; without arguments, with a share of the suite that
meets every one of these packages. It ends with pytest's code. The environment is kept, and made
anew when its list of packages changes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".cache" / "lowest"

EXTRAS = ("acl", "cli", "compress", "control", "grpc", "tls")
"""Not spark, whose oldest PySpark has tests of its own, nor fast, which changes only times."""
TOOLS = ("grpcio", "h2", "hypothesis", "javaproperties", "pytest", "pytest-timeout")
"""What the share needs of the development tools."""
MORE_TOOLS = ("pytest-xdist", "trio", "typing-extensions")

SHARE = (
    *("-q", "-m", "not jvm and not slow", "--hypothesis-profile=few"),
    *("tests/test_follow_one_message.py", "tests/config/test_properties_text.py"),
    *("tests/config/test_config.py", "tests/tls", "tests/broker/acl/test_homes.py"),
    *("tests/commands/test_output.py", "tests/commands/test_serve.py"),
    *("tests/serving/test_grpc_port.py", "tests/fixtures/test_freezing.py"),
    "tests/control/test_process.py",
)
"""Not `tests/commands/test_looking.py`: click's test runner keeps stderr apart from 8.2 on only."""
_REQUIREMENT = re.compile(r"([A-Za-z0-9_-]+)>=([0-9.]+)(?:,[^;]*)?(?:;.*)?")
"""A name, the lowest version; an upper bound and a marker may follow."""


def lowest(requirements: list[str], names: tuple[str, ...] = ()) -> list[str]:
    """Return ``name==version`` of each requirement, or of those with one of these names.

    Raise SystemExit for one that names no lowest version; fakemq's own extras are left out.
    """
    pins = []
    for requirement in requirements:
        if requirement.startswith("fakemq["):
            continue
        found = _REQUIREMENT.fullmatch(requirement.replace(" ", ""))
        if found is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} names no lowest version: name>=1.2")
        name, version = found.groups()
        if not names or name in names:
            pins.append(f"{name}=={version}")
    return pins


def pins() -> list[str]:
    """Return the lowest versions of all that the tests here need, as requirements of pip."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    found = lowest(project["dependencies"])
    for extra in EXTRAS:
        found += lowest(extras[extra])
    return found + lowest(extras["dev"], TOOLS + MORE_TOOLS)


def install() -> Path:
    """Make the environment if its list is not the present one; return its Python."""
    folder, stamp = PLACE / "venv", PLACE / "installed.txt"
    python = folder / "bin" / "python"
    wanted = "\n".join([*pins(), sys.version, ""])
    if not stamp.exists() or stamp.read_text() != wanted:
        stamp.unlink(missing_ok=True)
        venv.create(folder, clear=True, symlinks=True, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *pins()], check=True)
        subprocess.run([*pip, "--no-deps", "-e", str(ROOT)], check=True)
        stamp.write_text(wanted)
    return python


def main() -> int:
    """Run the tests that the command line names with the lowest versions; return pytest's code."""
    python = install()
    print(*pins(), flush=True)
    return subprocess.run([python, "-m", "pytest", *(sys.argv[1:] or SHARE)], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
