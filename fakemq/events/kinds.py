"""Every kind of event that a journal may have, by name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

from fakemq.errors import did_you_mean
from fakemq.events import HOMES
from fakemq.events.core import Event

MODULES = (
    *(f"fakemq.events.{home}" for home in sorted({"core", *HOMES.values()})),
    "fakemq.journal.journal",
    "fakemq.sim.events",
)
"""The modules that define kinds of events; the journal and the simulator define their own."""


@cache
def kinds() -> dict[str, type[Event]]:
    """Return every kind by its name, and the base class `Event`, which stands for all kinds."""
    return {
        name: value
        for module in MODULES
        for name, value in vars(import_module(module)).items()
        if isinstance(value, type) and issubclass(value, Event)
    }


def kind_named(name: str) -> type[Event]:
    """Return the kind of this name; raise ValueError with a suggestion if there is none."""
    known = kinds()
    kind = known.get(name)
    if kind is None:
        raise ValueError(f"no kind of event is called {name!r}{did_you_mean(name, sorted(known))}")
    return kind


@cache
def types_of(kind: type[Event], field: str) -> tuple[type, ...]:
    """Return the types that a field may have in events of ``kind``, its subclasses included."""
    declared = [
        get_type_hints(one)[field]
        for one in {kind, *kinds().values()}
        if issubclass(one, kind) and field in one.__struct_fields__
    ]
    parts = [part for one in declared for part in (get_args(one) if _is_union(one) else (one,))]
    return tuple({get_origin(part) or part for part in parts})


def _is_union(declared: object) -> bool:
    return get_origin(declared) in (Union, UnionType)


def fields_of(kind: type[Event]) -> set[str]:
    """Return the names of the fields of ``kind`` and its subclasses: for `Event`, of all kinds."""
    return {
        name for one in kinds().values() if issubclass(one, kind) for name in one.__struct_fields__
    } | set(kind.__struct_fields__)
