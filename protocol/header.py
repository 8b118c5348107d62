"""Custom headers: a class with annotated fields stands for one Java CommandCustomHeader.

Java's annotations are not enforced: a missing or unparsable field is logged, stays null and
mostly ends as a NullPointerException where the processor reads it. So here: ``decode`` never
complains, a field without a default that did not arrive is simply absent, and reading it raises
`NullFieldError`, which becomes the same kind of answer (code 1).

Fields are annotated ``str``, ``int`` (Java int), ``Long`` or ``bool``, with ``| None = None`` for
what Java boxes and may leave null, with a default for Java's primitives. Wire names are the
camelCase of the attribute unless ``wire_names`` says otherwise.

Source: remoting/protocol/RemotingCommand.java#decodeCommandCustomHeader (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from inspect import get_annotations
from typing import (
    TYPE_CHECKING,
    ClassVar,
    Self,
    TypeAlias,
    TypeVar,
    dataclass_transform,
)

from fakemq.protocol.errors import NullFieldError, NumberFormatError

T = TypeVar("T")

Long: TypeAlias = int
"""A Java long; ``int`` in a header is a Java int."""

_INT32 = 2**31
_INT64 = 2**63


def parse_int(text: str, limit: int = _INT32) -> int:
    """Integer.parseInt and Long.parseLong; NumberFormatError where Java throws."""
    if len(text) < 10 and text.isdecimal() and text.isascii():  # nearly always, so first
        return int(text)
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not digits.isdecimal() or max(digits) > "\uffff":  # any script's digits, of one char each
        raise NumberFormatError(text)
    value = int(text) if len(text) <= 20 else limit
    if not -limit <= value < limit:
        raise NumberFormatError(text)
    return value


def parse_long(text: str) -> int:
    """Long.parseLong; NumberFormatError where Java throws."""
    if len(text) < 19 and text.isdecimal() and text.isascii():
        return int(text)
    return parse_int(text, _INT64)


def parse_bool(text: str) -> bool:
    """Boolean.parseBoolean: anything but "true" is false."""
    return text.lower() == "true"


_Converter: TypeAlias = Callable[[str], str | int | bool]
_CONVERTERS: dict[str, _Converter] = {
    "str": str,
    "int": parse_int,
    "Long": parse_long,
    "bool": parse_bool,
}
_LIMITS: Mapping[_Converter, int] = {parse_int: _INT32, parse_long: _INT64}
_SMALL = {str(number): number for number in range(256)}
_KNOWN: dict[_Converter, Mapping[str, int | bool]] = {
    parse_int: _SMALL,
    parse_long: _SMALL,
    parse_bool: {"true": True, "false": False},
}
"""What texts mostly say, to save the conversion."""

_Field: TypeAlias = tuple[str, str, _Converter, Mapping[str, int | bool], str | int | bool | None]
"""Wire name, attribute, converter, what it need not convert, value where none was set."""


def camel_case(name: str) -> str:
    """Snake to camel, mechanically: ``queue_id`` to ``queueId``."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


@dataclass_transform(kw_only_default=True)
class Header:
    """Base of every custom header; subclasses only annotate."""

    wire_names: ClassVar[Mapping[str, str]] = {}
    fast: ClassVar[bool] = False
    """One of the four headers that Java decodes by hand: a bad number escapes as code 1."""

    _fields: ClassVar[tuple[_Field, ...] | None] = None
    _attrs: ClassVar[frozenset[str]] = frozenset()
    _secrets: ClassVar[frozenset[str]] = frozenset()
    """Fields that no text may show: reports of tests show arguments."""
    _limits: ClassVar[tuple[tuple[str, int], ...]] = ()
    """Each field with a number, and what it must be below."""

    def __init_subclass__(cls) -> None:
        cls._fields = None  # not those of its base

    def __init__(self, **fields: str | int | bool | None) -> None:
        if self._fields is None:
            self._make_fields()
        if not self._attrs.issuperset(fields):
            unknown = sorted(fields.keys() - self._attrs)
            raise TypeError(f"{type(self).__name__} has no field {unknown}")
        self.__dict__ = fields

    @classmethod
    def field_specs(cls) -> tuple[tuple[str, str, _Converter], ...]:
        """(wire name, attribute, converter) per field."""
        fields = cls._make_fields() if cls._fields is None else cls._fields
        return tuple(field[:3] for field in fields)

    @classmethod
    def _make_fields(cls) -> tuple[_Field, ...]:
        """Called on first use, to keep import light."""
        annotations: dict[str, str] = {}
        for base in reversed(cls.__mro__):
            annotations |= get_annotations(base)
        fields: list[_Field] = []
        for attr, annotation in annotations.items():
            if not annotation.startswith("ClassVar"):
                wire = cls.wire_names.get(attr, camel_case(attr))
                convert = _CONVERTERS[annotation.removesuffix(" | None")]
                known = _KNOWN.get(convert, {})
                fields.append((wire, attr, convert, known, getattr(cls, attr, None)))
        cls._fields = made = tuple(fields)
        cls._attrs = frozenset(attr for _, attr, *_ in made)
        cls._limits = tuple(
            (attr, _LIMITS[convert]) for _, attr, convert, *_ in made if convert in _LIMITS
        )
        return made

    @classmethod
    def decode(cls, ext_fields: Mapping[str, str]) -> Self:
        """Return the header in a command's ext fields; unknown fields are ignored."""
        header = cls.__new__(cls)
        values = header.__dict__
        text_of = ext_fields.get
        fields = cls._make_fields() if cls._fields is None else cls._fields
        for wire, attr, convert, known, _ in fields:
            text = text_of(wire)
            if text is None:
                continue
            if convert is str:
                values[attr] = text
            elif text in known:
                values[attr] = known[text]
            else:
                try:
                    values[attr] = convert(text)
                except NumberFormatError:
                    if cls.fast:
                        raise
        return header

    def get(self, attribute: str, default: T) -> T:
        """Return the value of a field, or ``default`` if the field did not arrive.

        For fields without a default of their own, which raise `NullFieldError` when read:
        ``header.get("topic", "")``.
        """
        value: T = self.__dict__.get(attribute, default)
        return value

    def encode(self) -> dict[str, str]:
        """Ext fields of a command; what is None or absent is left out, as Java leaves out null."""
        texts: dict[str, str] = {}
        value_of = self.__dict__.get
        fields = self._make_fields() if self._fields is None else self._fields
        for wire, attr, _, _, default in fields:
            value = value_of(attr, default)
            if value is None:
                continue
            if value is True:
                texts[wire] = "true"
            elif value is False:
                texts[wire] = "false"
            else:
                texts[wire] = f"{value}"
        return texts

    def numbers(self) -> Iterator[tuple[str, object, int]]:
        """Yield name and value of each number that is set, and what it must be below.

        The least is the negative of that, as in Java.
        """
        if self._fields is None:
            self._make_fields()
        value_of = self.__dict__.get
        for attr, limit in self._limits:
            value = value_of(attr)
            if value is not None:
                yield attr, value, limit

    if not TYPE_CHECKING:  # a checker that saw it would let every misspelt field pass

        def __getattr__(self, name: str) -> object:
            # Reached only for a field that has no default and did not arrive.
            if name.startswith("_"):
                raise AttributeError(name)
            raise NullFieldError(type(self).__name__, name)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.encode() == other.encode()

    __hash__ = None  # type: ignore[assignment]  # mutable, as its fields are

    def __repr__(self) -> str:
        shown = (one for one in self.__dict__.items() if one[0] not in self._secrets)
        fields = ", ".join(f"{key}={value!r}" for key, value in shown)
        return f"{type(self).__name__}({fields})"
