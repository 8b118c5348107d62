"""The packages of a distribution; everything else about it stands in pyproject.toml.

``fakemq.protocol`` and ``fakemq.fixtures`` lie at the top. They are built from there, so that a
build needs no symbolic links: without them, `find_packages` would leave both out in silence.
"""

from __future__ import annotations

from pathlib import Path

from setuptools import find_packages, setup

TOP = ("protocol", "fixtures")


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


setup(packages=packages(), package_dir={f"fakemq.{name}": name for name in TOP})
