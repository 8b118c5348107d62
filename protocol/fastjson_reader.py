"""The lax half of `fastjson.loads`: what fastjson reads and the standard does not know.

Unquoted keys, keys of any kind, single quotes, commas too many or too few, comments, numbers with
a type letter. What fastjson refuses is refused here.

Source: com.alibaba:fastjson:1.2.69, DefaultJSONParser and JSONScanner
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from fakemq.protocol.fastjson_values import MAX_DEPTH, JsonError, ObjectKey

_BLANK = " \t\n\r\f\b\v"
_COMMENT = r"//[^\n]*|/\*.*?\*/"
_SPACE = re.compile(rf"(?:[{_BLANK}]|{_COMMENT})*", re.DOTALL)
_SPACE_AND_COMMAS = re.compile(rf"(?:[{_BLANK},]|{_COMMENT})*", re.DOTALL)
_NUMBER = re.compile(r"([+-]?[0-9]+)((?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)([LSBFD]?)(?![\w.])")
_IDENTIFIER = re.compile(r"[A-Za-z_$\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*")
_PLAIN = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_CODE = {"u": re.compile("[0-9A-Fa-f]{4}"), "x": re.compile("[0-9A-Fa-f]{2}")}
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")

_WORDS = {"null": None, "true": True, "false": False, "undefined": None, "NaN": None}
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "F": "\f", "r": "\r", "v": "\v"}
_ESCAPED |= {char: char for char in "\"'\\/"} | {str(code): chr(code) for code in range(8)}

_END = "\x00\x1a"
"""Either ends a text for fastjson, whatever comes behind."""


def read(text: str) -> Any:
    """Return the value ``text`` says; None if it is blank. Raises JsonError."""
    text = text.removeprefix("\ufeff")
    if not text.strip(_BLANK):
        return None
    reader = _Reader(text)
    value = reader.value(0)
    reader.skip(_SPACE)
    if reader.at < len(text) and text[reader.at] not in _END:
        reader.fail("nothing may follow the value")
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, problem: str) -> NoReturn:
        found = self.text[self.at : self.at + 20]
        raise JsonError(
            f"{problem} at character {self.at} of {len(self.text)},"
            f" found {found!r}" + ("" if found else ", the end")
        )

    def skip(self, what: re.Pattern[str]) -> str:
        """Move over what may be skipped; the character there, empty at the end."""
        match = what.match(self.text, self.at)
        assert match is not None  # both patterns match nothing at all
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Any:
        char = self.skip(_SPACE)
        if depth > MAX_DEPTH:
            self.fail(f"nested deeper than {MAX_DEPTH}")
        if char == "{":
            return self.object(depth)
        if char == "[":
            return self.array(depth)
        if char in _PLAIN:
            return self.string(char)
        if char and char in "+-0123456789":
            return self.number()
        return self.word()

    def object(self, depth: int) -> dict[Any, Any]:
        self.at += 1
        items: dict[Any, Any] = {}
        char = self.skip(_SPACE_AND_COMMAS)
        while char != "}":
            key = self.key(char, depth)
            if self.text[self.at : self.at + 1] != ":":
                self.fail("expected ':' behind a key")
            self.at += 1
            items[key] = self.value(depth + 1)
            char = self.skip(_SPACE)
            if char == ",":
                char = self.skip(_SPACE_AND_COMMAS)
            elif char != "}":
                self.fail("expected ',' or '}' behind a value")
        self.at += 1
        return items

    def key(self, char: str, depth: int) -> Any:
        """Return the key there, read up to its colon."""
        if char and char in "+-0123456789":
            # No blank may stand between a number and its colon.
            return self.number()
        key: Any
        if char in _PLAIN:
            key = self.string(char)
        elif char in ("{", "["):
            key = _frozen(self.value(depth + 1))
        else:
            match = _IDENTIFIER.match(self.text, self.at)
            if match is None:
                self.fail("expected a key")
            self.at = match.end()
            key = match[0]
        self.skip(_SPACE)
        return key

    def array(self, depth: int) -> list[Any]:
        self.at += 1
        items: list[Any] = []
        while self.skip(_SPACE_AND_COMMAS) != "]":
            items.append(self.value(depth + 1))
        self.at += 1
        return items

    def string(self, quote: str) -> str:
        self.at += 1
        parts: list[str] = []
        while True:
            match = _PLAIN[quote].match(self.text, self.at)
            assert match is not None  # it matches nothing at all
            parts.append(match[0])
            self.at = match.end() + 1
            end = self.text[match.end() : self.at]
            if end == quote:
                break
            if not end:
                self.at = match.end()
                self.fail("a string without an end")
            parts.append(self.escape())
        text = "".join(parts)
        # Two escapes may stand for the two halves of one character.
        return _SURROGATES.sub(lambda pair: _join(pair[0]), text)

    def escape(self) -> str:
        letter = self.text[self.at : self.at + 1]
        self.at += 1
        if letter in _CODE:
            match = _CODE[letter].match(self.text, self.at)
            if match is None:
                self.fail(f"expected the digits of \\{letter}")
            self.at = match.end()
            return chr(int(match[0], 16))
        if letter not in _ESCAPED:
            self.at -= 1
            self.fail("an unknown escape")
        return _ESCAPED[letter]

    def number(self) -> int | float:
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            self.fail("expected a number")
        whole, fraction, kind = match.groups()
        try:
            number = float(whole + fraction) if fraction or kind in ("F", "D") else int(whole)
        except ValueError:  # Python reads no number of more than 4300 digits
            self.fail("a number too long to read")
        self.at = match.end()
        return number

    def word(self) -> bool | None:
        match = _IDENTIFIER.match(self.text, self.at)
        if match is None or match[0] not in _WORDS:
            self.fail("expected a value")
        self.at = match.end()
        return _WORDS[match[0]]


def _frozen(value: Any) -> Any:
    """Return a value that can be a key."""
    if isinstance(value, dict):
        return ObjectKey(value)
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _join(pair: str) -> str:
    return pair.encode("utf-16", "surrogatepass").decode("utf-16")
