"""The names of the modules that the wheel of `make wheel` has in a compiled form."""

from __future__ import annotations

import tomllib
from pathlib import Path

_SETTINGS = tomllib.loads(
    (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
)
MODULES: list[str] = _SETTINGS["tool"]["fakemq"]["compiled"]
