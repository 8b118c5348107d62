"""A block on every movement that a clock makes by itself."""

from __future__ import annotations

from collections.abc import Callable


class Hold:
    """One block on automatic movement; leaving the block or ``release`` ends it."""

    def __init__(self, holds: list[Hold], why: str, on_change: Callable[[], None]) -> None:
        self._holds = holds
        self._on_change = on_change
        self.why = why
        holds.append(self)
        on_change()

    def release(self) -> None:
        """End it; again, or after a reset, does nothing."""
        if self in self._holds:
            self._holds.remove(self)
            self._on_change()

    def __enter__(self) -> Hold:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
