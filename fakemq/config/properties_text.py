"""The text of a ``.properties`` file: read to keys and values with their lines, and written.

It depends on nothing, and each function takes a time that is linear in the length of its text.

Source: java.util.Properties, java.util.Properties.LineReader (JDK 17)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BREAK = re.compile(r"\r\n|\n|\r")
_BLANKS = " \t\f"
_ENTRY = re.compile(r"((?:[^\\=: \t\f]+|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
"""A key, up to a separator without a backslash before it, and a value."""
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_CONTROLS = {"t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_NAMES = {character: name for name, character in _CONTROLS.items()}
_WRITTEN_ESCAPED = re.compile(r"\A |[\\=:#!]|[^ -~]")


class EscapeError(ValueError):
    r"""A ``\u`` without four hexadecimal digits; ``line`` is where its entry begins, from 1."""

    def __init__(self, line: int, found: str) -> None:
        super().__init__(f"wrong escape {found}; expected \\u and four hexadecimal digits")
        self.line = line


def entries(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line from 1, the key and the value of each entry; raise EscapeError."""
    for number, line in _logical_lines(text):
        found = _ENTRY.fullmatch(line)
        assert found is not None, "the pattern takes any text without a backslash at its end"
        yield number, _unescaped(number, found[1]), _unescaped(number, found[2])


def written(value: str) -> str:
    """Return a value as Java writes it behind ``key=``."""
    return _WRITTEN_ESCAPED.sub(_escape, value)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers: no comments, no blank lines, continued lines joined."""
    begun: list[str] = []
    first = 0
    for number, line in enumerate(_BREAK.split(text), 1):
        line = line.lstrip(_BLANKS)
        if not begun:
            if line[:1] in ("#", "!"):
                continue
            first = number
        is_continued = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        begun.append(line[:-1] if is_continued else line)
        if not is_continued:
            if whole := "".join(begun):
                yield first, whole
            begun = []
    if whole := "".join(begun):  # a backslash ends the text
        yield first, whole


def _unescaped(number: int, field: str) -> str:
    if "\\" not in field:
        return field

    def character(found: re.Match[str]) -> str:
        name = found[1]
        if name[0] != "u":
            return _CONTROLS.get(name, name)
        if len(name) == 1:
            raise EscapeError(number, field[found.start() : found.start() + 6])
        return chr(int(name[1:], 16))

    return _PAIR.sub(_joined, _ESCAPE.sub(character, field))


def _joined(pair: re.Match[str]) -> str:
    """Return the one character of two of Java's."""
    return pair[0].encode("utf-16-be", "surrogatepass").decode("utf-16-be")


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _NAMES:
        return f"\\{_NAMES[character]}"
    if " " <= character <= "~":
        return f"\\{character}"
    units = character.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
