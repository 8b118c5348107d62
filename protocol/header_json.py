"""A command's header as JSON, as fastjson reads and writes it.

What every client sends is read by a typed decoder. What that refuses goes to `fastjson`, which
takes as much as Java does: unquoted names, numbers where strings belong, languages nobody knows.

Source: remoting/protocol/RemotingSerializable.java, RemotingCommand.java (4.9.7)
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError

_Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]


class _Incoming(msgspec.Struct, rename="camel", gc=False):
    code: _Int32 = 0
    language: str = "JAVA"
    version: _Int32 = 0
    opaque: _Int32 = 0
    flag: _Int32 = 0
    remark: str | None = None
    ext_fields: dict[str, str] | None = None


class _Outgoing(msgspec.Struct, rename={"serialize_type": "serializeTypeCurrentRPC"}, gc=False):
    # In fastjson's order: sorted by name.
    code: int
    extFields: dict[str, str]  # noqa: N815
    flag: int
    language: str
    opaque: int
    remark: str | msgspec.UnsetType
    serialize_type: str
    version: int


_LANGUAGES = {language.name: language for language in LanguageCode}
_LANGUAGE_NAMES = {language: language.name for language in LanguageCode}

_decode = msgspec.json.Decoder(_Incoming).decode
_encode = msgspec.json.Encoder().encode


def decode_json_header(data: bytes) -> RemotingCommand:
    """The command of a JSON header, its body still empty; RemoteProtocolError if it is none."""
    try:
        header = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        header = _decode_as_fastjson(data)
    return RemotingCommand(
        header.code,
        language=_LANGUAGES.get(header.language) or _language(header.language),
        version=header.version,
        opaque=header.opaque,
        flag=header.flag,
        remark=header.remark,
        ext_fields=header.ext_fields,
        serialize_type=SerializeType.JSON,
    )


def encode_json_header(command: RemotingCommand) -> bytes:
    """The JSON header of a command. ``extFields`` is there even when empty: clients read it."""
    header = _Outgoing(
        command.code,
        command.ext_fields,
        command.flag,
        _LANGUAGE_NAMES[command.language],
        command.opaque,
        msgspec.UNSET if command.remark is None else command.remark,
        "JSON",
        command.version,
    )
    try:
        return _encode(header)
    except UnicodeEncodeError:  # half a surrogate pair; Java's getBytes writes a question mark
        header.extFields = {_sound(k): _sound(v) for k, v in command.ext_fields.items()}
        header.remark = msgspec.UNSET if command.remark is None else _sound(command.remark)
        return _encode(header)
    except (TypeError, OverflowError) as error:
        raise LocalProtocolError(f"{command!r} cannot be written as JSON: {error}") from error


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _language(name: str) -> LanguageCode:
    # fastjson finds an enum by name whatever its case; one it does not find is null in Java,
    # for which OTHER stands here.
    return _LANGUAGES.get(name.upper(), LanguageCode.OTHER)


def _decode_as_fastjson(data: bytes) -> _Incoming:
    raise RemoteProtocolError(f"the header is no JSON: {data[:80]!r}")
