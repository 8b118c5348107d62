"""Every class of a header of 4.9.7, by its name."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from fakemq.protocol import headers
from fakemq.protocol.header import Header


def classes() -> dict[str, type[Header]]:
    modules = (
        import_module(f"fakemq.protocol.headers.{module.name}")
        for module in pkgutil.iter_modules(headers.__path__)
        if module.name != "pop"  # those are of 5.5.0
    )
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }


CLASSES = classes()
