"""Counts the entries of all containers that a cluster's objects refer to.

There is no list of tables to maintain, so a table that is added later is counted too.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Set

import msgspec

_CONTAINERS = (Mapping, Set, list, deque, array)
_PASSING = frozenset({"Journal", "RemotingCommand"})
"""Classes that are left out: a ring of fixed size, and requests in progress."""


def census(root: object) -> Counter[str]:
    """Count the entries of containers reachable from ``root``: ``Class.attribute`` → number.

    ``Class.attribute[]`` counts the entries of containers inside that container. Callbacks are not
    followed.
    """
    sizes: Counter[str] = Counter()
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("", root)]
    while waiting:
        place, value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, _CONTAINERS):
            sizes[place] += len(value)
            if not isinstance(value, array):
                waiting.extend((f"{place}[]", item) for item in _items(value))
        elif isinstance(value, tuple):
            waiting.extend((place, item) for item in value)
        elif type(value).__module__.split(".")[0] == "fakemq":
            name = type(value).__name__
            if name in _PASSING:
                continue
            waiting.extend((f"{name}.{attribute}", held) for attribute, held in _attributes(value))
    return sizes


def _items(container: object) -> Iterator[object]:
    if isinstance(container, Mapping):
        yield from container.keys()
        yield from container.values()
    elif isinstance(container, Set | list | deque):
        yield from container


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    names: list[str] = list(getattr(value, "__dict__", ()))
    if isinstance(value, msgspec.Struct):
        names += value.__struct_fields__
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    for name in names:
        if name not in ("__dict__", "__weakref__"):
            yield name, getattr(value, name, None)
