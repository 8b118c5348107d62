"""The packages and the compiled modules of a distribution; pyproject.toml has everything else.

``fakemq.protocol`` and ``fakemq.fixtures`` lie at the top. They are built from there, so that a
build needs no symbolic links: without them, `find_packages` would leave both out in silence.

With ``FAKEMQ_COMPILE`` in its environment, the build of a wheel translates the hot modules to C by
mypyc: ``auto`` where that is possible, ``always`` or not at all. ``FAKEMQ_OPTIMIZE=0`` makes that
quick, for tests: the C compiler optimises nothing, and mypyc's assertions stay in.
docs/compiled.md says more.
"""

from __future__ import annotations

import os
import sys
import tempfile
import tomllib
from pathlib import Path

from setuptools import Extension, find_packages, setup

TOP = ("protocol", "fixtures")
LEVELS = ("0", "1", "2", "3")


def packages() -> list[str]:
    """Return the names of all packages; exit with one line if a folder at the top is missing."""
    # Ignore fakemq/protocol and fakemq/fixtures, whether they are links or not.
    links = [pattern for name in TOP for pattern in (f"fakemq.{name}", f"fakemq.{name}.*")]
    found = find_packages(include=["fakemq", "fakemq.*"], exclude=links)
    for name in TOP:
        if not Path(name, "__init__.py").is_file():
            raise SystemExit(f"cannot build fakemq: {name}/ is missing beside setup.py")
        found += [
            f"fakemq.{one}" for one in (name, *(f"{name}.{sub}" for sub in find_packages(name)))
        ]
    return found


def extensions() -> list[Extension]:
    """Return the compiled modules of a wheel; none for a wheel that stays pure Python.

    Only a wheel has any. An editable install uses the sources that its user edits, and a binary
    beside them would be stale after the first change.
    """
    wanted = os.environ.get("FAKEMQ_COMPILE", "")
    if not wanted or "bdist_wheel" not in sys.argv:
        return []
    if wanted not in ("auto", "always"):
        raise SystemExit(f"FAKEMQ_COMPILE={wanted}: auto and always are known")
    if optimize() not in LEVELS:
        raise SystemExit(f"FAKEMQ_OPTIMIZE={optimize()}: {', '.join(LEVELS)} are known")
    why = why_not()
    if not why:
        return [*compiled(), speedups()]
    if wanted == "always":
        raise SystemExit(f"cannot compile fakemq: {why}")
    print(f"fakemq stays pure Python: {why}", file=sys.stderr)
    return []


def optimize() -> str:
    """Return the level at which the C compiler optimises."""
    return os.environ.get("FAKEMQ_OPTIMIZE", "2")


def why_not() -> str:
    """Return why this machine cannot compile the hot modules; "" if it can."""
    if not Path("fakemq", "protocol").is_dir():
        return "fakemq/protocol is no symbolic link here"
    try:
        import mypyc  # noqa: F401
    except ImportError:
        return "mypyc is not installed"
    from setuptools._distutils.ccompiler import new_compiler
    from setuptools._distutils.errors import CCompilerError, DistutilsError
    from setuptools._distutils.sysconfig import customize_compiler, get_python_inc

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "try.c")
        source.write_text("#include <Python.h>\nint main(void) { return Py_Version == 0; }\n")
        try:
            compiler = new_compiler()
            customize_compiler(compiler)
            compiler.compile([str(source)], folder, include_dirs=[get_python_inc()])
        except (CCompilerError, DistutilsError, OSError) as error:
            return f"no C compiler: {error}"
    return ""


def compiled() -> list[Extension]:
    """Return the modules of ``tool.fakemq.compiled``, translated as one group to C."""
    from mypyc.build import mypycify

    settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    names: list[str] = settings["tool"]["fakemq"]["compiled"]
    # The types are checked by `make lint`, with everything that is imported; with other options, so
    # that they cannot share a cache, which locks the one out while the other runs.
    flags = ["--config-file=", "--cache-dir=.cache/mypyc"]
    flags += ["--explicit-package-bases", "--ignore-missing-imports"]
    files = [f"{name.replace('.', '/')}.py" for name in names]
    return mypycify(
        [*flags, *files],
        opt_level=optimize(),
        debug_level="0",
        multi_file=True,
        group_name="fakemq",
    )


def speedups() -> Extension:
    """Return what is written in C: see ``protocol/native.py``."""
    return Extension(
        "fakemq.protocol.speedups",
        ["protocol/speedups.c"],
        extra_compile_args=[f"-O{optimize()}", "-std=c11", "-Wall", "-Werror=implicit"],
        optional=os.environ["FAKEMQ_COMPILE"] == "auto",
    )


setup(
    packages=packages(),
    package_dir={f"fakemq.{name}": name for name in TOP},
    ext_modules=extensions(),
)
