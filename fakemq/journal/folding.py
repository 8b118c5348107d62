"""Several entries kept as one object: each is made again for the readers that ask for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias, cast

from fakemq.events.core import Event

Kinds: TypeAlias = tuple[type[Event], ...]


class Fold:
    """The events of successive entries: their kinds, and the values of all fields in a row."""

    __slots__ = ("_kinds", "_values", "first_seq")

    def __init__(self, first_seq: int, kinds: Kinds, values: tuple[object, ...]) -> None:
        self.first_seq = first_seq
        """The number of the first of these entries."""
        self._kinds = kinds
        self._values = values

    def kind(self, seq: int) -> type[Event]:
        """Return the kind of the event with this number."""
        return self._kinds[seq - self.first_seq]

    def event(self, seq: int) -> Event:
        """Return the event with this number."""
        index = seq - self.first_seq
        start = _starts(self._kinds)[index]
        return event_of(self._kinds[index], self._values[start:])


def event_of(kind: type[Event], values: tuple[object, ...]) -> Event:
    """Return the event of a kind whose fields have these values, in their order."""
    make = cast("Callable[..., Event]", kind)
    return make(**dict(zip(kind.__struct_fields__, values, strict=False)))


@lru_cache(maxsize=64)
def _starts(kinds: Kinds) -> list[int]:
    """Return for each kind where the values of its fields begin."""
    starts = [0]
    for kind in kinds:
        starts.append(starts[-1] + len(kind.__struct_fields__))
    return starts


@lru_cache(maxsize=256)
def the_same(kinds: Kinds) -> Kinds:
    """Return these kinds, as one object for all folds that have them."""
    return kinds
