"""A command's header in RocketMQ's own binary form (serialize type 1).

Its layout is declared in layout/header_binary.py. Length 0 reads as null, so an empty string does
not survive.

Source: remoting/protocol/RocketMQSerializable.java (4.9.7)
"""

from __future__ import annotations

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


def decode_binary_header(data: bytes) -> RemotingCommand:
    """The command of a binary header, its body still empty."""
    code, language, version, opaque, flag, remark, fields, _ = parse_binary_header(data)
    ext_fields: dict[str, str] = {}
    position = 0
    while position < len(fields):
        key, value, position = parse_ext_field(fields, position)
        # Java keeps nulls in its map, where nobody can tell them from what is not there.
        if key and value:
            ext_fields[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
    return RemotingCommand(
        code,
        # Java has null for a language it does not know; OTHER stands for it here.
        language=_LANGUAGES.get(language, LanguageCode.OTHER),
        version=version,
        opaque=opaque,
        flag=flag,
        remark=remark.decode("utf-8", "replace") if remark else None,
        ext_fields=ext_fields,
        serialize_type=SerializeType.ROCKETMQ,
    )


def encode_binary_header(command: RemotingCommand) -> bytes:
    """The binary header of a command; LocalProtocolError for a code beyond 16 bits."""
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
