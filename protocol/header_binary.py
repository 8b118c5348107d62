"""A command's header in RocketMQ's own binary form (serialize type 1).

Its layout is declared in layout/frame.py. Length 0 reads as null, so an empty string does
not survive.

There are three ways to read a header, and tests prove that they agree:
1. Most headers of a peer have their fields at the places of an earlier header. The places are
   remembered, and such a header is read in a few calls.
2. Other headers are read in one straight pass.
3. A header on which that pass fails is read again by the codecs of the declaration, which find the
   error.

Source: remoting/protocol/RocketMQSerializable.java (4.9.7)
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.errors import LocalProtocolError
from fakemq.protocol.layout.codecs import (
    build_binary_header,
    build_ext_field,
    parse_binary_header,
    parse_ext_field,
)

_LANGUAGES: Final = {int(language): language for language in LanguageCode}
_ROCKETMQ: Final = SerializeType.ROCKETMQ

_START: Final = struct.Struct(">hbhiiI")  # up to the length of the remark
_read_start: Final = _START.unpack_from
_pack_start: Final = _START.pack
_INT32: Final = struct.Struct(">I")
_read_int32: Final = _INT32.unpack_from
_pack_int32: Final = _INT32.pack
_pack_int16: Final = struct.Struct(">h").pack
_INT16_MAX: Final = 2**15 - 1
_decode: Final = bytes.decode
_KEY_LENGTHS: Final = [_pack_int16(length).decode("ascii") for length in range(128)]
LENGTHS: Final = [_pack_int32(length).decode("ascii") for length in range(128)]
"""Of keys and of values, as text: where all is ASCII, the fields of a header are one text."""
_LAYOUTS_MAX: Final = 256
_LAYOUT_MAX_FIELDS: Final = 40
_LAYOUT_MAX_BYTES: Final = 4096


def decode_binary_header(data: bytes, start: int = 0, end: int | None = None) -> RemotingCommand:
    """Return the command of the binary header in ``data[start:end]``, its body still empty."""
    end = len(data) if end is None else end
    command = _decode_usual(data, start, end)
    return _decode_any(data[start:end]) if command is None else command


def _decode_usual(data: bytes, start: int, end: int) -> RemotingCommand | None:
    """None if anything is unusual.

    Lengths are read unsigned and slices are cut as they come: one that is negative or too large
    leads past the end, where it is noticed. Only the length of a key would not, in a header in
    which 2**15 bytes have room.
    """
    if end - start > _INT16_MAX:
        return None
    try:
        code, language, version, opaque, flag, remark_bytes = _read_start(data, start)
        at = start + _START.size
        if remark_bytes > end - at:
            return None
        remark = data[at : at + remark_bytes].decode() if remark_bytes else None
        at += remark_bytes + 4
        (fields_bytes,) = _read_int32(data, at - 4)
        fields = data[at : at + fields_bytes]
        if not at + fields_bytes <= end:
            return None
        ext_fields = _read_fields(code, fields)
    except (IndexError, UnicodeDecodeError, struct.error):
        return None
    if ext_fields is None:
        return None
    return RemotingCommand(
        code,
        ext_fields=ext_fields,
        flag=flag,
        opaque=opaque,
        remark=remark,
        # Java has null for a language it does not know; OTHER stands for it here.
        language=_LANGUAGES.get(language, LanguageCode.OTHER),
        version=version,
        serialize_type=_ROCKETMQ,
    )


class _Layout(NamedTuple):
    """Where the values of some ext fields are, and what stands before each: its key, and lengths.

    ``unpack`` cuts the bytes of the fields into what stands before a value, that value, and so on.
    """

    keys: tuple[str, ...]
    frames: tuple[bytes, ...]
    unpack: Callable[[bytes], tuple[bytes, ...]]


_layouts: Final[dict[tuple[int, int], _Layout]] = {}
"""The last one seen of every code and number of bytes, as long as they are few."""


def _read_fields(code: int, fields: bytes) -> dict[str, str] | None:
    layout = _layouts.get((code, len(fields)))
    if layout is not None:
        keys, frames, unpack = layout
        parts = unpack(fields)
        if parts[::2] == frames:
            return dict(zip(keys, map(_decode, parts[1::2]), strict=True))
    return _walk_fields(code, fields)


def _walk_fields(code: int, fields: bytes) -> dict[str, str] | None:
    ext_fields: dict[str, str] = {}
    sizes: list[int] = []
    at, end = 0, len(fields)
    while at < end:
        key_end = at + 2 + (fields[at] << 8 | fields[at + 1])
        value_at = key_end + 4
        value_end = value_at + _read_int32(fields, key_end)[0]
        key, value = fields[at + 2 : key_end], fields[value_at:value_end]
        sizes += (value_at - at, value_end - value_at)
        # Java keeps nulls in its map, where they have the same effect as absent keys.
        if key and value:
            ext_fields[key.decode()] = value.decode()
        at = value_end
    if at != end:
        return None
    # Nulls and repeated keys have no place in a layout. What is long is not worth remembering.
    if len(sizes) == 2 * len(ext_fields) <= 2 * _LAYOUT_MAX_FIELDS and end <= _LAYOUT_MAX_BYTES:
        if len(_layouts) >= _LAYOUTS_MAX:
            _layouts.clear()
        unpack = struct.Struct("".join([f"{size}s" for size in sizes])).unpack
        _layouts[code, end] = _Layout(tuple(ext_fields), unpack(fields)[::2], unpack)
    return ext_fields


def _decode_any(data: bytes) -> RemotingCommand:
    code, language, version, opaque, flag, remark, fields, _ = parse_binary_header(data)
    ext_fields: dict[str, str] = {}
    at = 0
    while at < len(fields):
        key, value, at = parse_ext_field(fields, at)
        if key and value:
            ext_fields[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
    return RemotingCommand(
        code,
        ext_fields=ext_fields,
        flag=flag,
        opaque=opaque,
        remark=remark.decode("utf-8", "replace") if remark else None,
        language=_LANGUAGES.get(language, LanguageCode.OTHER),
        version=version,
        serialize_type=_ROCKETMQ,
    )


def encode_binary_header(command: RemotingCommand) -> bytes:
    """Return the binary header of a command; LocalProtocolError for a code beyond 16 bits."""
    try:
        return _encode_usual(command)
    except (IndexError, UnicodeError, struct.error):
        return _encode_any(command)


def _encode_usual(command: RemotingCommand) -> bytes:
    remark = command.remark.encode() if command.remark else b""
    # One text of ASCII characters is encoded in one call; for others it raises.
    texts = [
        f"{key_text(key)}{LENGTHS[len(value)]}{value}" for key, value in command.ext_fields.items()
    ]
    fields = "".join(texts).encode("ascii")
    start = _pack_start(
        command.code,
        command.language,
        command.version,
        command.opaque,
        command.flag,
        len(remark),
    )
    return b"".join((start, remark, _pack_int32(len(fields)), fields))


@lru_cache(maxsize=512)
def key_text(key: str) -> str:
    """Return a key behind its length, as text; IndexError for one that is not worth remembering."""
    return _KEY_LENGTHS[len(key)] + key


def _encode_any(command: RemotingCommand) -> bytes:
    try:
        fields = b"".join(
            build_ext_field(key.encode("utf-8", "replace"), value.encode("utf-8", "replace"))
            for key, value in command.ext_fields.items()
        )
        return build_binary_header(
            command.code,
            command.language,
            command.version,
            command.opaque,
            command.flag,
            (command.remark or "").encode("utf-8", "replace"),
            fields,
        )
    except LocalProtocolError as error:
        raise LocalProtocolError(f"{command!r} does not fit a binary header: {error}") from error
