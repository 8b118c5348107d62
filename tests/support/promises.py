"""What clients were promised of their messages, and what of that does not hold later."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

Place = TypeVar("Place", bound=Hashable)

_SHOWN = 3
"""How many messages of one kind are named; of the rest only the number."""


class Promises(Generic[Place]):
    """The messages that a cluster must have. A body begins with what only it has."""

    def __init__(self) -> None:
        self.sent: set[bytes] = set()
        """All bodies that the cluster may have."""
        self.acknowledged: dict[Place, bytes] = {}
        """The place of each message that is there since it was acknowledged, and its body."""
        self.later: set[bytes] = set()
        """The bodies that were acknowledged and come later: by a delay, or by a commit."""

    @staticmethod
    def of_all(parts: Iterable[Promises[Place]]) -> Promises[Place]:
        """Return what several clients were promised of the same topic."""
        whole = Promises[Place]()
        for part in parts:
            whole.sent |= part.sent
            whole.acknowledged |= part.acknowledged
            whole.later |= part.later
        return whole

    def __len__(self) -> int:
        """Return how many messages were acknowledged."""
        return len(self.acknowledged) + len(self.later)

    def withdraw(self, picks: Callable[[Place], bool]) -> None:
        """Promise nothing any more of what is at some places."""
        for place in [*filter(picks, self.acknowledged)]:
            del self.acknowledged[place]

    def lost(self, found: Mapping[Place, bytes]) -> list[str]:
        """Return a line for what is not where it was acknowledged; ``found`` is what is there."""
        return _lines(
            f"at {place} is {_shown(found.get(place))}, not the acknowledged {_shown(body)}"
            for place, body in self.acknowledged.items()
            if found.get(place) != body
        )

    def missing(self, found: Collection[bytes]) -> list[str]:
        """Return a line for what should have come by now; ``found`` are the bodies there."""
        return _lines(f"{_shown(body)} never comes" for body in sorted(self.later - {*found}))

    def invented(self, found: Collection[bytes]) -> list[str]:
        """Return a line for what was never sent."""
        return _lines(f"{_shown(body)} was never sent" for body in sorted({*found} - self.sent))


def _shown(body: bytes | None) -> str:
    return "nothing" if body is None else f"{body[:20]!r} of {len(body)} bytes"


def _lines(lines: Iterable[str]) -> list[str]:
    found = list(lines)
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return found[:_SHOWN] + more
