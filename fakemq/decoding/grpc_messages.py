"""Explains the messages of RocketMQ 5's gRPC API by their descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.decoding.fields import Explained, Field, Problem
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
        if _is_map(field):
            for key in sorted(value):
                yield from _value(
                    field.message_type.fields_by_name["value"],
                    f"{field.name}[{key}]",
                    value[key],
                    at,
                    depth,
                )
        elif isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            yield from _value(field, field.name, value, at, depth)
        else:
            for number, one in enumerate(value):
                yield from _value(field, f"{field.name}[{number}]", one, at, depth)


def _is_map(field: Any) -> bool:
    kind = field.message_type
    return kind is not None and bool(kind.GetOptions().map_entry)


def _value(field: Any, name: str, value: Any, at: int, depth: int) -> Explained[None]:
    if field.message_type is not None:
        if field.message_type.full_name in _TIMES:
            yield Field(at, 0, name, value.ToJsonString(), depth=depth)
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
