"""What an explanation consists of: fields, problems and texts, each at its offset."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, TypeAlias, TypeVar

from fakemq.protocol.properties import NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR

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


# Explains texts within bytes: JSON, and the properties of a message.


def text_or_bytes(data: bytes) -> object:
    """Return UTF-8 as text, and other bytes as they are."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def shown(value: object) -> object:
    """Return a field's value as it is shown: bytes as text if they are UTF-8."""
    return text_or_bytes(value) if isinstance(value, bytes) else value


def properties(field: Field) -> Explained[None]:
    """Explain the properties of a message, one field for each, at its place in the text."""
    text = field.value
    data = text if isinstance(text, bytes) else str(text).encode()
    at = field.offset
    for entry in data.split(PROPERTY_SEPARATOR.encode()):
        name, separator, value = entry.partition(NAME_VALUE_SEPARATOR.encode())
        if entry and not (name and separator and value):
            yield Problem(at, f"the property {entry!r} has no name or no value; readers skip it")
        elif entry:
            shown = name.decode("utf-8", "replace")
            yield Field(at, len(entry), shown, text_or_bytes(value), depth=field.depth + 1)
        at += len(entry) + 1
