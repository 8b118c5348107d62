"""Explains the messages of RocketMQ 5's gRPC API by their descriptors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fakemq.decoding.fields import Explained, Field, Item, Problem
from fakemq.decoding.texts import shown

if TYPE_CHECKING:
    from google.protobuf.message import Message

_DEEPEST = 16


def message_fields(path: str, data: bytes, at: int, *, is_request: bool) -> Explained[None]:
    """Explain the message of an RPC, by its path; the place of each field is inside the message."""
    try:
        from fakemq.protocol.grpc.table import RPCS
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "google":
            raise
        yield Field(at, 0, "fields", data, "pip install 'fakemq[grpc]' explains them", 1)
        return
    from google.protobuf.message import DecodeError

    rpc = next((one for one in RPCS if one.path == path), None)
    if rpc is None:
        yield Field(at, 0, "fields", data, depth=1)
        return
    kind = rpc.request if is_request else rpc.response
    try:
        message = kind.FromString(data)
    except DecodeError as error:
        yield Problem(at, f"the message is no {kind.DESCRIPTOR.name}: {error}")
        return
    yield Field(at, 0, kind.DESCRIPTOR.name, f"{len(data)} bytes", depth=1)
    yield from _of_message(message, at, 2)


def _of_message(message: Message, at: int, depth: int) -> Explained[None]:
    for field, value in message.ListFields():
        for one, name, part in _parts(field, value):
            yield from _value(one, name, part, at, depth)


def _parts(field: Any, value: Any) -> Iterator[tuple[Any, str, Any]]:
    """Yield descriptor, name and value of each entry of a map or a list, or of a single value."""
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        for key in sorted(value):
            yield kind.fields_by_name["value"], f"{field.name}[{key}]", value[key]
    elif isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        yield field, field.name, value
    else:
        for number, one in enumerate(value):
            yield field, f"{field.name}[{number}]", one


def _value(field: Any, name: str, value: Any, at: int, depth: int) -> Explained[None]:
    if field.message_type is not None:
        if field.message_type.full_name in _TIMES:
            yield _time(name, value, at, depth)
            return
        yield Field(at, 0, name, "", depth=depth)
        if depth < _DEEPEST:
            yield from _of_message(value, at, depth + 1)
        return
    note = ""
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        note = "" if known is None else known.name
    yield Field(at, 0, name, shown(value), note, depth)


_TIMES = ("google.protobuf.Timestamp", "google.protobuf.Duration")


def _time(name: str, value: Any, at: int, depth: int) -> Item:
    try:
        return Field(at, 0, name, value.ToJsonString(), depth=depth)
    except ValueError as error:  # no date is that late
        return Problem(at, f"{name}: {error}")
