"""A terminal, and time, for bars."""

from __future__ import annotations

from io import StringIO


class Terminal(StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class HandTime:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.ms = 0

    def wall_ms(self) -> int:
        return self.ms

    def elapsed_ms(self) -> int:
        return self.ms
