"""Fitting a JSON value to a class as fastjson does, which is laxer than any schema.

Strings stand for numbers and numbers for strings, null leaves a field at its default, unknown
fields are ignored. What is left over raises ValueError, where Java has a JSONException.

Differs: fastjson refuses an object in the place of a list if the names are not in order, and
keeps a null in a list, which is left out here, but where a class says that items may be None.

Source: fastjson 1.2.69, TypeUtils.java and the deserializers of its parser
"""

from __future__ import annotations

from functools import cache
from math import inf
from typing import Any, NamedTuple, SupportsInt, TypeVar

import msgspec
from msgspec import inspect

from fakemq.protocol import fastjson
from fakemq.protocol.java import enum_names

T = TypeVar("T", bound=msgspec.Struct)

_ABSENT = object()
_type_info = cache(inspect.type_info)  # some milliseconds for one class


class MissingFieldError(ValueError):
    """A field that must be there is not: Java has null there, and fails when it reads that."""

    def __init__(self, where: _Place, field: str) -> None:
        super().__init__(f"{where}.{field} is missing")
        self.field = field


_NULL_TEXTS = ("", "null", "NULL")
_BOOLEANS = {"1": True, "y": True, "Y": True, "T": True} | {
    "0": False,
    "f": False,
    "F": False,
    "N": False,
}
_LONG_MAX = 2**63 - 1
NEEDS = "needs"
"""The attribute of a bean's class that names its lists in which Java fails at a null, at once."""
NOTHING: tuple[object, ...] = (None, "", [])
"""What fastjson takes for a null in the place of a bean."""


class _Place(NamedTuple):
    """Where in a body a value stands; a text only if something is wrong with it.

    Texts made for every value would cost a body with one long key its length at every value below.
    """

    outer: _Place | None
    step: object

    def __str__(self) -> str:
        if self.outer is None:
            return "$"
        return f"{self.outer}{'' if self.step == '[]' else '.'}{self.step!s:.40}"


_TOP = _Place(None, "$")


def to_bean(value: object, cls: type[T]) -> T:
    """Return ``value``, a result of `fastjson.loads`, as an instance of ``cls``."""
    bean = _fit(value, _type_info(cls), _TOP)
    if not isinstance(bean, cls):
        raise ValueError("expected an object")
    return bean


def _fit(value: object, to: inspect.Type, where: _Place) -> Any:
    """Return the value as Java would set it, or _ABSENT where Java leaves the default."""
    if isinstance(to, inspect.UnionType):  # only ever "X | None"
        if value is None:
            return None
        (to,) = (one for one in to.types if not isinstance(one, inspect.NoneType))
    if value is None:
        return _ABSENT
    if isinstance(to, inspect.StructType):
        return _fit_struct(value, to, where)
    if isinstance(to, inspect.DictType):
        if not isinstance(value, dict):
            raise ValueError(f"{where}: expected an object, not {_kind(value)}")
        pairs = (
            (_fit(k, to.key_type, where), _fit(v, to.value_type, _Place(where, k)))
            for k, v in value.items()
        )
        return {k: v for k, v in pairs if k is not _ABSENT and v is not _ABSENT}
    if isinstance(to, (inspect.ListType, inspect.VarTupleType)):
        if isinstance(value, dict) and isinstance(to.item_type, inspect.StructType):
            value = [value]  # fastjson takes an object for the only item
        if not isinstance(value, list):
            raise ValueError(f"{where}: expected an array, not {_kind(value)}")
        items = (_fit(one, to.item_type, _Place(where, "[]")) for one in value)
        if isinstance(to.item_type, inspect.UnionType):  # a list that keeps a null
            found = [None if one is _ABSENT else one for one in items]
        else:
            found = [one for one in items if one is not _ABSENT]
        return found if isinstance(to, inspect.ListType) else tuple(found)
    if isinstance(to, inspect.BoolType):
        return _fit_bool(value, where)
    if isinstance(to, inspect.IntType):
        return _fit_int(value, to, where)
    if isinstance(to, inspect.FloatType):
        return _fit_float(value, where)
    assert isinstance(to, inspect.StrType), to
    return _fit_str(value) if to.pattern is None else _fit_enum(value, to.pattern, where)


def _fit_struct(value: object, to: inspect.StructType, where: _Place) -> Any:
    if value in NOTHING:
        return _ABSENT
    if not isinstance(value, dict):
        raise ValueError(f"{where}: expected an object, not {_kind(value)}")
    fields = {}
    for field in to.fields:
        if field.encode_name in value:
            place = _Place(where, field.encode_name)
            fitted = _fit(value[field.encode_name], field.type, place)
            if fitted is not _ABSENT:
                fields[field.name] = fitted
        if field.required and field.name not in fields:
            raise MissingFieldError(where, field.encode_name)
    for name in getattr(to.cls, NEEDS, ()):
        if _has_null(value.get(name, [])):
            raise MissingFieldError(where, name)
    return to.cls(**fields)


def _has_null(beans: object) -> bool:
    return beans is None or (isinstance(beans, list) and any(one in NOTHING for one in beans))


def _fit_bool(value: object, where: _Place) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, float) or (isinstance(value, int) and -(2**31) <= value < 2**31):
        return 1 <= value < 2  # Java's intValue() cuts the fraction
    if isinstance(value, str):
        if value in _NULL_TEXTS:
            return _ABSENT
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        if value in _BOOLEANS:
            return _BOOLEANS[value]
    raise ValueError(f"{where}: expected a boolean, not {_kind(value)}")


def _fit_int(value: object, to: inspect.IntType, where: _Place) -> Any:
    if isinstance(value, str):
        if value in _NULL_TEXTS:
            return _ABSENT
        text = value.replace(",", "")
        if not text.lstrip("+-").isdecimal() or len(text) > 20:
            raise ValueError(f"{where}: expected a number, not {value[:40]!r}")
        value = int(text)
    elif not isinstance(value, SupportsInt) or (isinstance(value, bool) and to.le == _LONG_MAX):
        raise ValueError(f"{where}: expected a number, not {_kind(value)}")
    try:
        number = int(value)
    except (OverflowError, ValueError):  # infinity and NaN
        raise ValueError(f"{where}: {value} is no number") from None
    if (to.ge is not None and number < to.ge) or (to.le is not None and number > to.le):
        raise ValueError(f"{where}: {number} is out of range")
    return number


def _fit_float(value: object, where: _Place) -> Any:
    if isinstance(value, str):
        if value in _NULL_TEXTS:
            return _ABSENT
        try:
            return float(value.replace(",", ""))
        except ValueError:
            raise ValueError(f"{where}: expected a number, not {value[:40]!r}") from None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ValueError(f"{where}: expected a number, not {_kind(value)}")
    try:
        return float(value)
    except OverflowError:  # a whole number beyond the doubles, which Java makes infinite
        return inf if value > 0 else -inf


def _fit_enum(value: object, pattern: str, where: _Place) -> str | None:
    """Return the name of a Java enum that a text or an ordinal means; None for an unknown text."""
    names = enum_names(pattern)
    if isinstance(value, str):
        return value.upper() if value.upper() in names else None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < len(names):
        raise ValueError(f"{where}: expected one of {', '.join(names)}, not {value!r:.40}")
    return names[value]


def _fit_str(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return fastjson.dumps(value)
    return str(value)


def _kind(value: object) -> str:
    return type(value).__name__
