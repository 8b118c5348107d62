"""Explains HTTP/2 as gRPC clients of RocketMQ 5 speak it: frames, header fields, messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fakemq.decoding.fields import BrokenError, Explained, Field, Item, Problem, Title, shown
from fakemq.protocol.grpc.framing import MessageError, MessageReader
from fakemq.protocol.http2 import frames as f
from fakemq.protocol.http2.hpack import HeaderDecoder, HpackError

if TYPE_CHECKING:
    from google.protobuf.message import Message

_KINDS = {
    f.DATA: "DATA",
    f.HEADERS: "HEADERS",
    f.PRIORITY: "PRIORITY",
    f.RST_STREAM: "RST_STREAM",
    f.SETTINGS: "SETTINGS",
    f.PUSH_PROMISE: "PUSH_PROMISE",
    f.PING: "PING",
    f.GOAWAY: "GOAWAY",
    f.WINDOW_UPDATE: "WINDOW_UPDATE",
    f.CONTINUATION: "CONTINUATION",
}
_SETTINGS = {
    f.HEADER_TABLE_SIZE: "HEADER_TABLE_SIZE",
    f.ENABLE_PUSH: "ENABLE_PUSH",
    f.MAX_CONCURRENT_STREAMS: "MAX_CONCURRENT_STREAMS",
    f.INITIAL_WINDOW_SIZE: "INITIAL_WINDOW_SIZE",
    f.MAX_FRAME_SIZE: "MAX_FRAME_SIZE",
    f.MAX_HEADER_LIST_SIZE: "MAX_HEADER_LIST_SIZE",
}
_ERRORS = {
    f.NO_ERROR: "NO_ERROR",
    f.PROTOCOL_ERROR: "PROTOCOL_ERROR",
    f.INTERNAL_ERROR: "INTERNAL_ERROR",
    f.FLOW_CONTROL_ERROR: "FLOW_CONTROL_ERROR",
    f.STREAM_CLOSED: "STREAM_CLOSED",
    f.FRAME_SIZE_ERROR: "FRAME_SIZE_ERROR",
    f.REFUSED_STREAM: "REFUSED_STREAM",
    f.CANCEL: "CANCEL",
    f.COMPRESSION_ERROR: "COMPRESSION_ERROR",
    f.ENHANCE_YOUR_CALM: "ENHANCE_YOUR_CALM",
}
_FLAGS = {
    f.DATA: {f.END_STREAM: "END_STREAM", f.PADDED: "PADDED"},
    f.HEADERS: {
        f.END_STREAM: "END_STREAM",
        f.END_HEADERS: "END_HEADERS",
        f.PADDED: "PADDED",
        f.WITH_PRIORITY: "PRIORITY",
    },
    f.CONTINUATION: {f.END_HEADERS: "END_HEADERS"},
    f.SETTINGS: {f.ACK: "ACK"},
    f.PING: {f.ACK: "ACK"},
}
_PRIORITY_BYTES = 5


def is_http2(data: bytes) -> bool:
    """Return whether bytes begin as a connection does, at its client's end or its server's."""
    if data.startswith(f.PREFACE):
        return True
    # A server begins with its settings. Read as a frame of RocketMQ they would have no header.
    size = int.from_bytes(data[:3], "big")
    return (
        len(data) >= f.HEAD_BYTES
        and data[3] == f.SETTINGS
        and data[4] == 0
        and data[5 : f.HEAD_BYTES] == b"\0\0\0\0"
        and size % f.SETTING.size == 0
    )


class Http2Explainer:
    """Explains one direction of a connection.

    ``paths`` has the path of each stream; the client's direction fills it for the other one.
    """

    def __init__(self, paths: dict[int, str] | None = None) -> None:
        self._paths: dict[int, str] = {} if paths is None else paths
        self._fields = HeaderDecoder()
        self._block = bytearray()
        """The header fields that a CONTINUATION continues."""
        self._readers: dict[int, MessageReader] = {}
        self._requests: set[int] = set()
        """The streams whose path is in this direction."""

    def connection(self, data: bytes, start: int = 0, *, origin: int = 0) -> Explained[None]:
        """Explain a direction from its begin; raise BrokenError where it cannot be read."""
        if data.startswith(f.PREFACE, start):
            yield Title(origin + start, "HTTP/2, a client's end: gRPC")
            start += len(f.PREFACE)
        else:
            yield Title(origin + start, "HTTP/2, a server's end: gRPC")
        while start < len(data):
            start = yield from self._frame(data, start, origin)

    def _frame(self, data: bytes, start: int, origin: int) -> Explained[int]:
        left = len(data) - start
        if left < f.HEAD_BYTES:
            raise BrokenError(
                origin + start, f"{left} bytes are left; a frame of HTTP/2 begins with 9"
            )
        head = data[start : start + f.HEAD_BYTES]
        size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        stream = int.from_bytes(head[5:], "big") & 0x7FFF_FFFF
        name = _KINDS.get(kind, f"frame of the unknown kind {kind}")
        yield Title(origin + start, f"{name}, stream {stream}" if stream else name)
        yield Field(origin + start, 3, "length", size)
        yield Field(origin + start + 3, 1, "type", kind, name)
        known = _FLAGS.get(kind, {})
        names = [text for bit, text in known.items() if flags & bit]
        yield Field(origin + start + 4, 1, "flags", flags, ", ".join(names))
        yield Field(origin + start + 5, 4, "stream", stream)
        start += f.HEAD_BYTES
        if size > len(data) - start:
            raise BrokenError(
                origin + start,
                f"the frame has {size} bytes by its length; {len(data) - start} are there",
            )
        payload, at = data[start : start + size], origin + start
        if kind in (f.DATA, f.HEADERS) and flags & f.PADDED:
            payload, at = _unpadded(payload, at)
        if kind == f.DATA:
            yield from self._data(stream, payload, at)
        elif kind in (f.HEADERS, f.CONTINUATION):
            if kind == f.HEADERS and flags & f.WITH_PRIORITY:
                payload, at = payload[_PRIORITY_BYTES:], at + _PRIORITY_BYTES
            self._block += payload
            if flags & f.END_HEADERS:
                yield from self._headers(stream, at)
        else:
            yield from _control(kind, payload, at)
        return start + size

    def _headers(self, stream: int, at: int) -> Explained[None]:
        block = bytes(self._block)
        self._block.clear()
        try:
            fields = self._fields.decode(block)
        except HpackError as error:
            raise BrokenError(at, f"header fields: {error}") from None
        if fields is None:
            yield Problem(at, "header fields: over 8 KiB, more than a proxy takes")
            return
        for name, value in fields.items():
            yield Field(at, 0, name, value, depth=1)
        if ":path" in fields:
            self._paths[stream] = fields[":path"]
            self._requests.add(stream)
        if stream not in self._readers:
            self._readers[stream] = MessageReader(fields.get("grpc-encoding", "identity"))

    def _data(self, stream: int, payload: bytes, at: int) -> Explained[None]:
        reader = self._readers.setdefault(stream, MessageReader())
        path = self._paths.get(stream, "")
        held = reader.held_bytes
        try:
            for message in reader.receive(payload):
                yield Field(at, len(message), "message", path or "of an unknown RPC")
                yield from message_fields(path, message, at, is_request=stream in self._requests)
        except MessageError as error:
            raise BrokenError(at, f"message: {error}") from None
        if reader.held_bytes > held and payload:
            size = reader.held_bytes
            note = "a message that the next frames continue"
            yield Field(at, len(payload), "part", f"{size} bytes", note)


def _unpadded(payload: bytes, at: int) -> tuple[bytes, int]:
    padding = payload[0] if payload else 0
    if padding >= len(payload):
        raise BrokenError(at, f"{padding} bytes of padding in a frame of {len(payload)}")
    return payload[1 : len(payload) - padding], at + 1


def _control(kind: int, payload: bytes, at: int) -> Explained[None]:
    """Explain the payload of a frame that carries no part of a call."""
    if kind == f.SETTINGS:
        for place in range(0, len(payload) - len(payload) % f.SETTING.size, f.SETTING.size):
            number, value = f.SETTING.unpack_from(payload, place)
            name = _SETTINGS.get(number, f"setting {number}")
            yield Field(at + place, f.SETTING.size, name, value, depth=1)
    elif kind == f.WINDOW_UPDATE and len(payload) == 4:
        yield Field(at, 4, "increment", int.from_bytes(payload, "big") & 0x7FFF_FFFF, depth=1)
    elif kind == f.RST_STREAM and len(payload) == 4:
        code = int.from_bytes(payload, "big")
        yield Field(at, 4, "error_code", code, _ERRORS.get(code, ""), 1)
    elif kind == f.GOAWAY and len(payload) >= 8:
        code = int.from_bytes(payload[4:8], "big")
        yield Field(at, 4, "last_stream", int.from_bytes(payload[:4], "big"), depth=1)
        yield Field(at + 4, 4, "error_code", code, _ERRORS.get(code, ""), 1)
        if payload[8:]:
            text = payload[8:].decode("utf-8", "replace")
            yield Field(at + 8, len(payload) - 8, "text", text, depth=1)
    elif payload:
        yield Field(at, len(payload), "payload", payload, depth=1)


# Explains the messages of RocketMQ 5's gRPC API by their descriptors.

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
