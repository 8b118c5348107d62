"""The modules of the bodies of all releases."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

from fakemq import protocol


def body_modules() -> list[ModuleType]:
    """Return each module of a folder ``bodies`` of `fakemq.protocol`, imported."""
    return [
        import_module(found.name)
        for found in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}.")
        if ".bodies." in found.name
    ]
