"""The texts of errors about bodies that are no JSON, or do not fit their type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

_PLACE = re.compile(r" - at `\$([^`]*)`\Z")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[\.\.\.\]")
_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF = re.compile(rb"(?<!\\)\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def no_json(error: msgspec.DecodeError, given: bytes) -> str:
    """Return the text of an error about a body that is no JSON."""
    half = _HALF.search(_PAIR.sub(b"", given))
    # msgspec says of one at the end of a text that the body is too short.
    why = f"{half[0].decode()} is only half of a surrogate pair" if half else str(error)
    return f"the body is no JSON: {why}"


def misfit(error: msgspec.ValidationError, kind: type[msgspec.Struct], given: bytes) -> str:
    """Return the text of an error about a body that does not fit its type.

    It lists the fields of the object that is wrong, and names a key where msgspec writes ``[...]``.
    """
    text = str(error)
    place = _PLACE.search(text)
    if place is None:
        return f"{text}; the body may have: {names(kind)}"
    path, there = _followed(kind, place[1], given)
    text = f"{text[: place.start()]} - at `${path}`"
    fields = [names(one) for one in there if _is_struct(one)]
    return f"{text}; an object there may have: {fields[0]}" if fields else text


def names(kind: type[msgspec.Struct]) -> str:
    """Return the names of a type's fields, as in JSON."""
    return ", ".join(field.encode_name for field in msgspec.structs.fields(kind)) or "nothing"


def _followed(kind: object, path: str, given: bytes) -> tuple[str, list[Any]]:
    """Return a path with its keys, and the types that the value at its end may have."""
    kinds: list[Any] = [kind]
    value: Any = None
    written = ""
    if "[...]" in path:
        # What follows the first error may be no JSON, or too deep.
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            value = msgspec.json.decode(given)
    for step in _STEP.finditer(path):
        name, index = step.groups()
        there, part, key = list(_members(kinds)), step[0], name
        if name:
            fields = [field for one in there for field in _fields(one)]
            kinds = [field.type for field in fields if field.encode_name == name]
        else:
            holder = list if index else dict
            kinds = [get_args(one)[-1] for one in there if get_origin(one) is holder]
            key = int(index) if index else _wrong_key(value, kinds)
            if not index and key is not None:
                part = f"[{key!r}]"
        with suppress(KeyError, IndexError, TypeError):
            value = value[key]
        written += part
    return written, list(_members(kinds))


def _wrong_key(value: Any, kinds: list[Any]) -> str | None:
    """Return the first key of an object whose value does not fit its type; None without one."""
    items = value.items() if isinstance(value, dict) else ()
    for kind in kinds:  # at most one: no value may be of two types of objects with free keys
        for key, one in items:
            try:
                msgspec.convert(one, kind)
            except msgspec.ValidationError:
                return str(key)
    return None


def _members(kinds: list[Any]) -> Iterator[Any]:
    """Yield types, and for a union those that it has."""
    for kind in kinds:
        if get_origin(kind) is Annotated:
            yield from _members([get_args(kind)[0]])
        elif get_origin(kind) in (Union, UnionType):
            yield from _members(list(get_args(kind)))
        else:
            yield kind


def _fields(kind: Any) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind) if _is_struct(kind) else ()


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
