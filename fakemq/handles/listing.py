"""Lists that a test gets, which a REPL and a failed assertion show in few lines."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
_SHOWN = 6
"""How many elements of a long list are shown: the first ones."""


class Listing(list[T]):
    """A list like any other, but for its `repr` if it is long."""

    def __repr__(self) -> str:
        if len(self) <= _SHOWN + 1:
            return super().__repr__()
        shown = ",\n ".join(map(repr, self[:_SHOWN]))
        return f"[{shown},\n … and {len(self) - _SHOWN} more]"
