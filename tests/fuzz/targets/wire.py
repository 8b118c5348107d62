"""Frames, headers and every declared layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from construct import Construct, ConstructError, SizeofError  # type: ignore[import-untyped]

from fakemq.protocol import table
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.connection import Connection
from fakemq.protocol.errors import (
    LocalProtocolError,
    NullFieldError,
    NumberFormatError,
    RemoteProtocolError,
)
from fakemq.protocol.frame import decode_frame, encode_frame
from fakemq.protocol.header import Header
from fakemq.protocol.header_binary import decode_binary_header
from fakemq.protocol.header_json import decode_json_header
from fakemq.protocol.layout import codecs
from fakemq.protocol.layout.derive import LAYOUTS
from tests.fuzz import golden
from tests.fuzz.target import Target, Violation, chosen, outcome, same, sound, text_of

# -- frames ---------------------------------------------------------------------------------------


def frame(data: bytes) -> None:
    """A stream reads the same whole and in pieces, and what is read is read again once written."""
    commands, why = received([data])
    pieces = 1 + sum(data[:8]) % 23
    in_pieces, why_in_pieces = received(
        [data[at : at + pieces] for at in range(0, len(data), pieces)]
    )
    same("in pieces", in_pieces, commands)
    same("why it ends, in pieces", why_in_pieces, why)
    for command in commands:
        written_again(command)


def received(pieces: list[bytes]) -> tuple[list[RemotingCommand], str]:
    """The commands in a stream, and why there are no more."""
    connection = Connection()
    commands: list[RemotingCommand] = []
    try:
        for piece in pieces:
            commands += connection.receive_data(piece)
        if connection.failure is None:
            outcome(connection.receive_eof, RemoteProtocolError)
    except RemoteProtocolError as error:
        return commands, str(error)
    return commands, "" if connection.failure is None else str(connection.failure)


def written_again(command: RemotingCommand) -> None:
    """Encode a decoded command: it comes back, but for what UTF-8 or the form cannot carry."""
    repr(command)
    try:
        frame = encode_frame(command)
    except LocalProtocolError:
        return  # replaced bytes make a text longer than it came
    again = decode_frame(memoryview(frame))
    expected = {sound(key): sound(value) for key, value in command.ext_fields.items()}
    remark = None if command.remark is None else sound(command.remark)
    if command.serialize_type is SerializeType.ROCKETMQ:
        remark = remark or None
    same("ext fields", again.ext_fields, expected)
    same("remark", again.remark, remark)
    for name in ("code", "flag", "opaque", "version", "language", "serialize_type"):
        same(name, getattr(again, name), getattr(command, name))
    same("body", bytes(again.body), bytes(command.body))


# -- headers --------------------------------------------------------------------------------------


def json_header(data: bytes) -> None:
    """A JSON header makes a command that can be answered and written, or RemoteProtocolError."""
    command = outcome(lambda: decode_json_header(data), RemoteProtocolError)
    if command is not None:
        strings(command)
        written_again(command)


def binary_header(data: bytes) -> None:
    """The same for one in the binary form."""
    command = outcome(lambda: decode_binary_header(data), RemoteProtocolError)
    if command is not None:
        by_places = outcome(lambda: decode_binary_header(data), RemoteProtocolError)
        same("by the places of the first time", by_places, command)
        strings(command)
        written_again(command)


def strings(command: RemotingCommand) -> None:
    """Raise Violation unless the ext fields are strings: every handler relies on that."""
    for key, value in command.ext_fields.items():
        if type(key) is not str or type(value) is not str:
            raise Violation(f"ext field {key!r}: {value!r}")


def custom_header(data: bytes) -> None:
    """The header class that the first line names, from ``wire name = value`` lines."""
    name, header_class, rest = chosen(data, HEADERS)
    lines = (line.partition("=") for line in text_of(rest).split("\n"))
    ext_fields = {name: value for name, _, value in lines}
    try:
        header = header_class.decode(ext_fields)
    except NumberFormatError:
        if not header_class.fast:
            raise
        return
    repr(header)
    for _, attribute, _ in header_class.field_specs():
        outcome(lambda attribute=attribute: getattr(header, attribute), NullFieldError)  # type: ignore[misc]
    same(name, header_class.decode(header.encode()), header)


HEADERS: dict[str, type[Header]] = {
    one.__name__: one for row in table.rows() for one in (row.request_header, row.response_header)
}

# -- layouts --------------------------------------------------------------------------------------


def layout(data: bytes) -> None:
    """The layout that the first line names: derived codec and declaration read the same."""
    name, _, data = chosen(data, LAYOUTS)
    if name == "Frame" and len(data) >= 4 and int.from_bytes(data[:4]) > len(data):
        return  # construct would take what is there for the body
    same(name, _by_codec(name, data), _by_declaration(name, data))


def _by_codec(name: str, data: bytes) -> tuple[Any, ...] | None:
    read = _codec("parse", name)
    values = outcome(lambda: read(data), RemoteProtocolError)
    same(f"{name} at an offset", outcome(lambda: read(b"?" + data, 1), RemoteProtocolError), (
        values if values is None or _is_fixed(LAYOUTS[name]) else (*values[:-1], values[-1] + 1)
    ))  # fmt: skip
    return values


def _by_declaration(name: str, data: bytes) -> tuple[Any, ...] | None:
    declared = LAYOUTS[name]
    stream = BytesIO(data)
    try:
        container = declared.parse_stream(stream)
    except ConstructError:
        return None
    values = tuple(container[field.name] for field in declared.subcons)
    return values if _is_fixed(declared) else (*values, stream.tell())


def _is_fixed(declared: Construct) -> bool:
    try:
        declared.sizeof()
    except SizeofError:
        return False
    return True


def _codec(kind: str, name: str) -> Callable[..., Any]:
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    function: Callable[..., Any] = getattr(codecs, f"{kind}_{snake}")
    return function


# -- seeds ----------------------------------------------------------------------------------------


def _headers(serialize_type: SerializeType) -> Iterator[bytes]:
    for _, _, one in golden.frames():
        if one[4] == serialize_type:
            yield golden.header_bytes(one)


def _custom_headers() -> Iterator[bytes]:
    by_code = {row.code: row for row in table.rows()}
    requests = {command.opaque: command.code for _, way, command in golden.commands() if way == ">"}
    for _, way, command in golden.commands():
        row = by_code.get(requests.get(command.opaque, -1) if way == "<" else command.code)  # type: ignore[call-overload]
        if row is None:
            continue
        header_class = row.response_header if way == "<" else row.request_header
        lines = "\n".join(f"{name}={value}" for name, value in command.ext_fields.items())
        yield f"{header_class.__name__}\n{lines}".encode()


def _layouts() -> Iterator[bytes]:
    for name in LAYOUTS:
        start = name.encode() + b"\n"
        yield start + bytes(64)
        if name == "Frame":
            yield from (start + one for _, _, one in golden.frames()[:8])
        if name.startswith("Record"):
            yield start + golden.commit_log()[:400]


_PARSERS = ("command", "connection", "frame", "header_binary", "header_json", "layout.codecs")
_JSON = ("header_json", "fastjson", "fastjson_reader", "beans")

TARGETS = (
    Target("frame", frame, _PARSERS, lambda: [one for _, _, one in golden.frames()]),
    Target("json_header", json_header, _JSON, lambda: _headers(SerializeType.JSON)),
    Target(
        "binary_header",
        binary_header,
        ("header_binary", "layout.codecs"),
        lambda: _headers(SerializeType.ROCKETMQ),
    ),
    Target("custom_header", custom_header, ("header",), _custom_headers),
    Target("layout", layout, ("layout.codecs",), _layouts),
)
