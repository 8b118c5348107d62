"""The words of the rows in the tables of keys, and what a row says with them.

A row is an annotation in `fakemq.config.keys`, or in that module of another release::

    revive_queue_num: Annotated[int, Whole(1, 32_768), Acts("how many revive queues there are")] = 8

Python keeps it as a text, so that an import of the tables, and with it each start, costs nothing.
`row_of` evaluates the text when something asks for more than the name and the default of a key.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import Enum
from types import NoneType
from typing import Annotated, Any, TypeAlias, get_args, get_origin

import msgspec

# -- which values a key may have ------------------------------------------------------------------

Kind: TypeAlias = "Whole | Text | Words | Flag | OrNothing"
"""``parse`` returns the value of a text, or raises ValueError if it has none. ``expected`` names
valid values, as the end of "expected ..."."""


class Whole(msgspec.Struct, frozen=True):
    """Whole numbers between two, both included."""

    low: int
    high: int

    @property
    def expected(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def parse(self, text: str) -> int:
        digits = text[1:] if text[:1] in ("+", "-") else text
        if not (digits.isascii() and digits.isdigit() and len(digits) < 30):
            raise ValueError(text)
        if not self.low <= int(text) <= self.high:
            raise ValueError(text)
        return int(text)


class Text(msgspec.Struct, frozen=True):
    """Texts for which a function returns true."""

    fits: Callable[[str], object]
    expected: str

    def parse(self, text: str) -> str:
        if not self.fits(text):
            raise ValueError(text)
        return text


class Words(msgspec.Struct, frozen=True):
    """The words of a Literal."""

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        return " or ".join(self.words)

    def parse(self, text: str) -> str:
        if text not in self.words:
            raise ValueError(text)
        return text


class Flag(msgspec.Struct, frozen=True):
    """True and false.

    Java reads every word except "true" as false. Here that is an error, because a test would not
    notice it.
    """

    expected: str = "true or false"

    def parse(self, text: str) -> bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"


class OrNothing(msgspec.Struct, frozen=True):
    """The values of another kind, and none for an empty text."""

    kind: Kind

    @property
    def expected(self) -> str:
        if isinstance(self.kind, Flag):
            return "true, false or nothing"
        return self.kind.expected

    def parse(self, text: str) -> str | int | bool | None:
        return self.kind.parse(text) if text else None


def _always(text: str) -> bool:
    return True


def are_addresses(text: str) -> bool:
    """Return whether a text is a list of ``host:port``, with semicolons between."""
    return all(map(is_address, filter(None, text.split(";"))))


def is_address(text: str) -> bool:
    """Return whether a text is one ``host:port``."""
    host, _, port = text.strip().rpartition(":")
    is_port = port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65536
    return is_port and bool(host) and not any(one in host for one in ", \t")


def _are_delay_levels(text: str) -> bool:
    from fakemq.protocol.delay_levels import parse_delay_levels  # few configs set the levels

    return bool(parse_delay_levels(text))


def _are_hours(text: str) -> bool:
    hours = text.rstrip(";").split(";")
    return all(
        hour.isascii() and hour.isdigit() and len(hour) < 3 and int(hour) < 24 for hour in hours
    )


INT_MAX = (1 << 31) - 1
LONG_MAX = (1 << 63) - 1

Long: TypeAlias = Annotated[int, Whole(-LONG_MAX - 1, LONG_MAX)]
"""Java's long; an int is one of 32 bits."""
AboveZero: TypeAlias = Annotated[int, Whole(1, INT_MAX)]
"""With less, Java starts, and then fails or loops for ever."""
LongAboveZero: TypeAlias = Annotated[int, Whole(1, LONG_MAX)]
Percent: TypeAlias = Annotated[int, Whole(0, 100)]
Secret: TypeAlias = Annotated[str, Text(_always, "any text")]
"""A text that no error and no repr of a config shows."""
SomeText: TypeAlias = Annotated[str, Text(str.strip, "some text")]
ADDRESSES = Text(are_addresses, 'addresses such as "127.0.0.1:9876;192.168.0.1:9876"')
Addresses: TypeAlias = Annotated[str | None, ADDRESSES]
DelayLevels: TypeAlias = Annotated[
    str,
    Text(_are_delay_levels, 'numbers with s, m, h or d, one space between: "1s 5s 10s 1m 2h"'),
]
Hours: TypeAlias = Annotated[str, Text(_are_hours, 'hours from 00 to 23, such as "04" or "04;16"')]

# -- what a key does here -------------------------------------------------------------------------


class Acts(msgspec.Struct, frozen=True):
    """The key does what it does in Java.

    "Read at the start" in the text: a later change waits for a restart.
    """

    text: str


class Idle(msgspec.Struct, frozen=True):
    """The key is accepted and does nothing: why no client and no operator can notice it."""

    why: str


class Unsupported(msgspec.Struct, frozen=True):
    """A feature that fakemq does not have: only the default is supported, described by ``instead``.

    Another value is an error at the start, and a warning in a later UPDATE_BROKER_CONFIG. A change
    that adds the feature makes it `Acts`.
    """

    instead: str
    for_good: bool = False
    """Whether no other value will ever be supported."""


# -- what else Java says of it --------------------------------------------------------------------


class Named(msgspec.Struct, frozen=True):
    """Java's name of the key, if it does not follow from the attribute's."""

    name: str


class JavaField(msgspec.Struct, frozen=True):
    """The name of Java's field, if its setter has another one: Java prints the field's name."""

    name: str


class Mark(Enum):
    """What needs no further word."""

    IMPORTANT = "Java marks it @ImportantField: ``mqbroker -m`` prints it"
    GONE = "an earlier release had the key, and this one does not"


IMPORTANT, GONE = Mark.IMPORTANT, Mark.GONE

# -- reading a row --------------------------------------------------------------------------------


class KeyRow:
    """What the row of a key says."""

    def __init__(self, kind: Kind, words: list[object]) -> None:
        self.kind = kind
        self.important = IMPORTANT in words
        effect: Acts | Idle | Unsupported | None = _first(words, (Acts, Idle, Unsupported))
        self.acts: str | None = effect.text if isinstance(effect, Acts) else None
        self.idle: str | None = effect.why if isinstance(effect, Idle) else None
        self.refused: Unsupported | None = effect if isinstance(effect, Unsupported) else None


def _first(words: list[object], kind: Any) -> Any:
    return next((word for word in words if isinstance(word, kind)), None)


def row_of(table: type, attribute: str) -> KeyRow:
    """Return what the tables say of a key: those of later releases first, each what is new."""
    kind: Kind | None = None
    words: list[object] = []
    for one in table.__mro__:
        text = vars(one).get("__annotations__", {}).get(attribute)
        if text is not None:
            declared = eval(text, globals(), vars(sys.modules[one.__module__]))
            of_type, *more = get_args(declared) if get_origin(declared) is Annotated else [declared]
            if kind is None:
                kind = _kind(of_type, more)
            words += more
    assert kind is not None, f"{table.__name__} has no {attribute}"
    return KeyRow(kind, words)


def _kind(of_type: Any, words: list[object]) -> Kind:
    members = get_args(of_type)
    if NoneType in members:
        return OrNothing(_kind(members[0], words))
    given: Kind | None = _first(words, (Whole, Text))
    if given is not None:
        return given
    if members:
        return Words(members)
    return _PLAIN[of_type]


_PLAIN: Mapping[type, Kind] = {
    bool: Flag(),
    int: Whole(-INT_MAX - 1, INT_MAX),
    str: Text(_always, "any text"),
}
