"""A command's header in RocketMQ's own binary form (serialize type 1).

Its layout is declared in layout/header_binary.py. Length 0 reads as null, so an empty string does
not survive.

What every client sends is read in one straight pass. What that stumbles over is read again by the
twins of the declaration, which know what is wrong with it. Tests prove that both read the same.

Source: remoting/protocol/RocketMQSerializable.java (4.9.7)
"""

from __future__ import annotations

import struct

from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.errors import LocalProtocolError
from fakemq.protocol.layout.twins import (
    build_binary_header,
    build_ext_field,
    parse_binary_header,
    parse_ext_field,
)

_LANGUAGES = {int(language): language for language in LanguageCode}
_ROCKETMQ = SerializeType.ROCKETMQ

_START = struct.Struct(">hbhiiI")  # up to the length of the remark
_read_start, _pack_start = _START.unpack_from, _START.pack
_INT32 = struct.Struct(">I")
_read_int32, _pack_int32 = _INT32.unpack_from, _INT32.pack
_pack_int16 = struct.Struct(">h").pack
_INT16_MAX = 2**15 - 1


def decode_binary_header(data: bytes, start: int = 0, end: int | None = None) -> RemotingCommand:
    """The command of the binary header in ``data[start:end]``, its body still empty."""
    end = len(data) if end is None else end
    command = _decode_usual(data, start, end)
    return _decode_any(data[start:end]) if command is None else command


def _decode_usual(data: bytes, at: int, end: int) -> RemotingCommand | None:
    """None if anything is unusual.

    Lengths are read unsigned and slices are cut as they come: one that is negative or too large
    leads past the end, where it is noticed. Only the length of a key would not, in a header in
    which 2**15 bytes have room.
    """
    if end - at > _INT16_MAX:
        return None
    ext_fields = {}
    try:
        code, language, version, opaque, flag, remark_bytes = _read_start(data, at)
        at += _START.size
        remark = data[at : at + remark_bytes].decode() if remark_bytes else None
        at += remark_bytes
        (fields_bytes,) = _read_int32(data, at)
        at += 4
        fields_end = at + fields_bytes
        while at < fields_end:
            key_end = at + 2 + (data[at] << 8 | data[at + 1])
            (value_bytes,) = _read_int32(data, key_end)
            key, at = data[at + 2 : key_end], key_end + 4
            value, at = data[at : at + value_bytes], at + value_bytes
            # Java keeps nulls in its map, where nobody can tell them from what is not there.
            if key and value:
                ext_fields[key.decode()] = value.decode()
    except (IndexError, UnicodeDecodeError, struct.error):
        return None
    if not at == fields_end <= end:
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
    """The binary header of a command; LocalProtocolError for a code beyond 16 bits."""
    try:
        return _encode_usual(command)
    except (UnicodeEncodeError, struct.error):
        return _encode_any(command)


def _encode_usual(command: RemotingCommand) -> bytes:
    remark = command.remark.encode() if command.remark else b""
    fields: list[bytes] = []
    for key, value in command.ext_fields.items():
        key_bytes, value_bytes = key.encode(), value.encode()
        fields += (
            _pack_int16(len(key_bytes)),
            key_bytes,
            _pack_int32(len(value_bytes)),
            value_bytes,
        )
    start = _pack_start(
        command.code,
        command.language,
        command.version,
        command.opaque,
        command.flag,
        len(remark),
    )
    field_bytes = b"".join(fields)
    return start + remark + _pack_int32(len(field_bytes)) + field_bytes


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
