"""What an explanation consists of: fields and problems, each at its offset."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")


class Field(NamedTuple):
    """One field; ``offset`` and ``size`` are bytes of the input. Size 0: its place is inside text.

    ``note`` says what the value means. ``depth`` grows with each structure around it.
    """

    offset: int
    size: int
    name: str
    value: object
    note: str = ""
    depth: int = 0


class Problem(NamedTuple):
    """What is wrong at an offset, and what would be right."""

    offset: int
    text: str


class Title(NamedTuple):
    """What begins here: a frame, a record, a stream of a capture."""

    offset: int
    text: str


Item: TypeAlias = Field | Problem | Title
Explained: TypeAlias = Generator[Item, None, T]


class BrokenError(Exception):
    """Raised where nothing behind an offset can be read; the caller makes it a `Problem`."""

    def __init__(self, offset: int, text: str) -> None:
        super().__init__(text)
        self.problem = Problem(offset, text)
