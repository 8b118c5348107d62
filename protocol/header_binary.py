"""A command's header in RocketMQ's own binary form (serialize type 1).

``int16 code | int8 language | int16 version | int32 opaque | int32 flag | int32 length, remark |
int32 length of all fields | per field: int16 length, key, int32 length, value``, strings UTF-8.
Length 0 reads as null, so an empty string does not survive.

Source: remoting/protocol/RocketMQSerializable.java (4.9.7)
"""

from __future__ import annotations

import struct

from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError, TruncatedError

_FIXED = struct.Struct(">hbhiii")
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")

_LANGUAGES = {int(language): language for language in LanguageCode}


def decode_binary_header(data: bytes) -> RemotingCommand:
    """The command of a binary header, its body still empty."""
    try:
        code, language, version, opaque, flag, remark_bytes = _FIXED.unpack_from(data)
        remark, position = _text(data, _FIXED.size, remark_bytes)
        (fields_bytes,) = _INT32.unpack_from(data, position)
        position += _INT32.size
        if fields_bytes > len(data) - position:
            raise TruncatedError(
                f"fields of {fields_bytes} bytes where {len(data) - position} bytes are left"
            )
        ext_fields: dict[str, str] = {}
        end = position + fields_bytes
        while position < end:
            (key_bytes,) = _INT16.unpack_from(data, position)
            key, position = _text(data, position + _INT16.size, key_bytes)
            (value_bytes,) = _INT32.unpack_from(data, position)
            value, position = _text(data, position + _INT32.size, value_bytes)
            # Java keeps nulls in its map, where nobody can tell them from what is not there.
            if key is not None and value is not None:
                ext_fields[key] = value
    except struct.error:
        raise TruncatedError(f"a binary header ends after {len(data)} bytes, too early") from None
    return RemotingCommand(
        code,
        # Java has null for a language it does not know; OTHER stands for it here.
        language=_LANGUAGES.get(language, LanguageCode.OTHER),
        version=version,
        opaque=opaque,
        flag=flag,
        remark=remark,
        ext_fields=ext_fields,
        serialize_type=SerializeType.ROCKETMQ,
    )


def encode_binary_header(command: RemotingCommand) -> bytes:
    """The binary header of a command; LocalProtocolError for a code beyond 16 bits."""
    fields = bytearray()
    try:
        for key, value in command.ext_fields.items():
            key_utf8 = key.encode("utf-8", "replace")
            value_utf8 = value.encode("utf-8", "replace")
            fields += _INT16.pack(len(key_utf8))
            fields += key_utf8
            fields += _INT32.pack(len(value_utf8))
            fields += value_utf8
        remark = (command.remark or "").encode("utf-8", "replace")
        fixed = _FIXED.pack(
            command.code,
            command.language,
            command.version,
            command.opaque,
            command.flag,
            len(remark),
        )
    except struct.error as error:
        raise LocalProtocolError(f"{command!r} does not fit a binary header: {error}") from error
    return b"".join((fixed, remark, _INT32.pack(len(fields)), fields))


def _text(data: bytes, start: int, length: int) -> tuple[str | None, int]:
    if length == 0:
        return None, start
    if length < 0:
        raise RemoteProtocolError(f"a string of {length} bytes in a binary header")
    end = start + length
    if end > len(data):
        raise TruncatedError(f"a string of {length} bytes where {len(data) - start} are left")
    return data[start:end].decode("utf-8", "replace"), end
