"""The words of a filter expression, split one by one as JavaCC's token manager does.

Java reads a word only when its parser needs it. So a text behind the end of a condition is never
read, and an error in it has no effect. Positions count UTF-16 units, as in Java.

Source: filter/parser/SelectorParserTokenManager.java, SimpleCharStream.java, TokenMgrError.java
(4.9.7)
"""

from __future__ import annotations

import re
from array import array
from enum import Enum
from typing import NamedTuple


class MQFilterError(Exception):
    """An expression cannot be compiled or evaluated. The text is that of Java's exception.

    Clients see it, because MQFilterException contains its cause's toString.

    Source: filter/expression/MQFilterException.java (4.9.7)
    """


class FilterTooLongError(MQFilterError):
    """An expression is longer than what is read here; the text says so. Java has no limit."""


class WordKind(Enum):
    """Kinds of words, in the order of Java's constants; the value is the name in errors."""

    EOF = "<EOF>"
    NOT = '"NOT"'
    AND = '"AND"'
    OR = '"OR"'
    BETWEEN = '"BETWEEN"'
    IN = '"IN"'
    TRUE = '"TRUE"'
    FALSE = '"FALSE"'
    NULL = '"NULL"'
    IS = '"IS"'
    CONTAINS = '"CONTAINS"'
    STARTSWITH = '"STARTSWITH"'
    ENDSWITH = '"ENDSWITH"'
    DECIMAL = "<DECIMAL_LITERAL>"
    FLOATING_POINT = "<FLOATING_POINT_LITERAL>"
    STRING = "<STRING_LITERAL>"
    ID = "<ID>"
    EQUAL = '"="'
    NOT_EQUAL = '"<>"'
    GREATER = '">"'
    GREATER_EQUAL = '">="'
    LESS = '"<"'
    LESS_EQUAL = '"<="'
    OPEN = '"("'
    COMMA = '","'
    CLOSE = '")"'
    PLUS = '"+"'
    MINUS = '"-"'


class Token(NamedTuple):
    """A word: its kind, its text, and where it begins in UTF-16 units."""

    kind: WordKind
    image: str
    at: int


_NOTHING = re.compile(r"(?:[ \t\n\r\f]+|--[^\n\r]*(?:\r\n|\n|\r)|/\*(?s:.*?)\*/)*")
_NOTHING_ON_LAST_LINE = re.compile(r"(?:[ \t\f]+|/\*(?s:.*?)\*/)*")
"""Blanks and comments. A comment ``--`` needs an end of line; on the last line ``--`` is two minus
signs. That line has its own pattern: with the first one, every ``--`` would scan to its end."""

_WORD = re.compile(
    r"""
    (?P<FLOATING_POINT> [0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?
                      | \.[0-9]+(?:[eE][+-]?[0-9]+)?
                      | [0-9]+[eE][+-]?[0-9]+ )
  | (?P<DECIMAL> 0 | [1-9][0-9]*[lL]? )
  | (?P<STRING> '(?:''|[^'])*' )
  | (?P<ID> [A-Za-z_$][A-Za-z0-9_$]* )
  | (?P<sign> <> | >= | <= | [=<>(),+-] )
    """,
    re.VERBOSE,
)
TEXT_CONDITIONS = frozenset({WordKind.CONTAINS, WordKind.STARTSWITH, WordKind.ENDSWITH})
"""The words that only 5.5.0 knows."""

_BY_IMAGE_5 = {kind.value.strip('"'): kind for kind in WordKind if kind.value.startswith('"')}
_BY_IMAGE = {image: kind for image, kind in _BY_IMAGE_5.items() if kind not in TEXT_CONDITIONS}
_NAMED = {name: WordKind[name] for name in ("FLOATING_POINT", "DECIMAL", "STRING")}


class Tokens:
    """The words of one text. ``tokens[n]`` splits the text up to the n-th word, from 0.

    After the last word comes an EOF. Raise MQFilterError if the text continues with no word.
    Without ``text_conditions`` the words of `TEXT_CONDITIONS` are names.
    """

    def __init__(self, text: str, *, text_conditions: bool = False) -> None:
        self._by_image = _BY_IMAGE_5 if text_conditions else _BY_IMAGE
        self._text = _utf16_units(text)
        self._found: list[Token] = []
        self._end = 0
        self.taken = 0
        """How many words parsers have taken; some take a word twice."""
        self._last_line = 1 + max(self._text.rfind("\n"), self._text.rfind("\r"))

    def __getitem__(self, index: int) -> Token:
        while index >= len(self._found):
            self._found.append(self._next())
        return self._found[index]

    def _next(self) -> Token:
        text = self._text
        nothing = _NOTHING if self._end < self._last_line else _NOTHING_ON_LAST_LINE
        skipped = nothing.match(text, self._end)
        at = self._end if skipped is None else skipped.end()
        if at == len(text):
            return Token(WordKind.EOF, "", at - 1)
        match = _WORD.match(text, at)
        if match is None:
            raise self._error(at)
        self._end = match.end()
        image = match[0]
        kind = _NAMED.get(match.lastgroup or "")
        return Token(kind or self._by_image.get(image.upper(), WordKind.ID), image, at)

    def place(self, at: int) -> tuple[int, int]:
        """Return line and column of the unit at ``at``, both from 1; (0, 0) in an empty text.

        Source: SimpleCharStream.java#UpdateLineColumn (4.9.7)
        """
        if at < 0:
            return 0, 0
        line, column = 1, 0
        previous = ""
        for unit in self._text[: at + 1]:
            column += 1
            if previous == "\n" or (previous == "\r" and unit != "\n"):
                line, column = line + 1, 1
            if unit == "\t":
                column += 7 - (column - 1) % 8
            previous = unit
        return line, column

    def _error(self, at: int) -> MQFilterError:
        """Return Java's error for text that begins no word, with the units that Java has read.

        Source: SelectorParserTokenManager.java#getNextToken, TokenMgrError.java#LexicalError
        """
        text = self._text
        if text[at] == "'" or text.startswith("/*", at):
            end = len(text)  # Java has read to the end, because the string or comment has none
        else:
            end = min(len(text), at + (2 if text[at] in "/." else 1))
        line, column = self.place(end - 1)
        read, last = text[at:end], text[end - 1]
        if end == len(text):
            line, column = (line + 1, 0) if last in "\n\r" else (line, column + 1)
            encountered = "<EOF> "
        else:
            read = read[:-1]
            encountered = f'"{add_escapes(last)}" ({ord(last)}), '
        after = read if end - at > 1 else ""
        return MQFilterError(
            "org.apache.rocketmq.filter.parser.TokenMgrError: Lexical error at line"
            f' {line}, column {column}.  Encountered: {encountered}after : "{add_escapes(after)}"'
        )


_ESCAPES = {
    "\0": "",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
    '"': '\\"',
    "'": "\\'",
    "\\": "\\\\",
}


def add_escapes(text: str) -> str:
    """Return ``text`` as an error shows it.

    Source: filter/parser/TokenMgrError.java#addEscapes (4.9.7)
    """
    return "".join(
        _ESCAPES[unit]
        if unit in _ESCAPES
        else unit
        if " " <= unit <= "~"
        else f"\\u{ord(unit):04x}"
        for unit in text
    )


def _utf16_units(text: str) -> str:
    """Return the UTF-16 units of ``text`` as characters; one beyond 16 bits becomes two."""
    if not text or max(text) <= "\uffff":
        return text
    return "".join(map(chr, array("H", text.encode("utf-16", "surrogatepass")[2:])))


def from_utf16_units(units: str) -> str:
    """Return the text that has these UTF-16 units."""
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
