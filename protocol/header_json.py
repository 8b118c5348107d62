"""A command's header as JSON, as fastjson reads and writes it.

A typed decoder reads the headers of usual clients. A header that it refuses is read by `fastjson`,
which accepts as much as Java: unquoted names, numbers instead of strings, unknown languages.

Source: remoting/protocol/RemotingSerializable.java, RemotingCommand.java (4.9.7)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand, SerializeType
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.header_json_shapes import IncomingHeader, OutgoingHeader
from fakemq.protocol.usual_headers import START_BYTES, USUAL_DECODERS

_LANGUAGES: Final[dict[object, LanguageCode]] = {one.name: one for one in LanguageCode}
_LANGUAGES_BY_NUMBER: Final = {str(int(one)): one for one in LanguageCode}
_LANGUAGE_NAMES: Final = {language: language.name for language in LanguageCode}

_JSON: Final = SerializeType.JSON

_decode: Final = msgspec.json.Decoder(IncomingHeader).decode
_encode: Final = msgspec.json.Encoder().encode
_decoder_of: Final = USUAL_DECODERS.get
_REMARK_MAX_CHARS: Final = 100


def decode_json_header(data: bytes, body: bytes = b"") -> RemotingCommand:
    """Return the command of a JSON header, with this body; RemoteProtocolError if it is bad."""
    try:
        header = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        header = _decode_as_fastjson(data)
    language = _LANGUAGES.get(header.language)
    return RemotingCommand(
        header.code,
        language=_language(header.language) if language is None else language,
        version=header.version,
        opaque=header.opaque,
        flag=header.flag,
        remark=header.remark,
        ext_fields=header.ext_fields or {},
        body=body,
        serialize_type=_JSON,
    )


def decode_usual_json_header(data: bytes, body: bytes) -> RemotingCommand:
    """Return what `decode_json_header` does; the ext fields of usual requests are in ``usual``."""
    decode = _decoder_of(data[:START_BYTES])
    if decode is None:
        decode = _decoder_of(data[: data.find(b",", START_BYTES) + 1])  # of a longer code
        if decode is None:
            return decode_json_header(data, body)
    try:
        command = decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return decode_json_header(data, body)
    language = _LANGUAGES.get(command.language)
    if language is None:
        return decode_json_header(data, body)
    command.language, command.body = language, body
    return command


def encode_json_header(command: RemotingCommand) -> bytes:
    """Return the JSON header of a command; with an empty ``extFields`` too, as clients read it."""
    header = OutgoingHeader(
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


def encode_json_answer_header(
    code: int, ext_fields: dict[str, str], opaque: int, remark: str | None, version: int
) -> bytes | None:
    """Return what `encode_json_header` does for a response with these fields, and no others.

    Return None for a remark that is long, or what no UTF-8 can say: those are seldom.
    """
    if remark is not None and len(remark) > _REMARK_MAX_CHARS:
        return None
    try:
        before, between, behind = _around_fields(int(code), remark, version)
        return b"".join((before, _encode(ext_fields), between, b"%d" % opaque, behind))
    except UnicodeEncodeError:
        return None


@lru_cache(maxsize=64)
def _around_fields(code: int, remark: str | None, version: int) -> tuple[bytes, bytes, bytes]:
    """Return what stands around the ext fields and the opaque in the header of a response."""
    command = RemotingCommand(code, flag=FLAG_RESPONSE, remark=remark, version=version)
    before, _, rest = encode_json_header(command).partition(b"{}")
    between, opaque, behind = rest.partition(b'"opaque":')
    return before, between + opaque, behind[1:]


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _language(name: str | None) -> LanguageCode:
    # fastjson finds an enum by name whatever its case, or by number; one it does not find is null
    # in Java, for which OTHER stands here.
    if name is None:
        return LanguageCode.OTHER
    language = _LANGUAGES.get(name.upper(), _LANGUAGES_BY_NUMBER.get(name))
    if language is None and name.isdecimal():
        raise RemoteProtocolError(f"no language has the number {name[:20]}")
    return LanguageCode.OTHER if language is None else language


def _decode_as_fastjson(data: bytes) -> IncomingHeader:
    from fakemq.protocol import fastjson  # only an odd client ever needs these
    from fakemq.protocol.beans import to_bean

    try:
        return to_bean(fastjson.loads(data), IncomingHeader)
    except ValueError as error:
        raise RemoteProtocolError(f"the header is no JSON of a command: {error}") from error
