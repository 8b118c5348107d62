"""Frames: ``int32 length | int8 serialize type | int24 header length | header | body``.

The length counts everything behind itself.

Source: remoting/protocol/RemotingCommand.java#decode, remoting/netty/NettyDecoder.java (4.9.7)
"""

from __future__ import annotations

from typing import Final

from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.errors import (
    ForeignProtocolError,
    LocalProtocolError,
    RemoteProtocolError,
    TruncatedError,
)
from fakemq.protocol.header_binary import (
    decode_binary_header,
    encode_binary_header,
)
from fakemq.protocol.header_json import (
    decode_json_header,
    decode_usual_json_header,
    encode_json_answer_header,
    encode_json_header,
)
from fakemq.protocol.layout.codecs import FRAME_HEAD
from fakemq.protocol.limits import FRAME_MAX_BYTES, HEADER_MAX_BYTES
from fakemq.protocol.native import usual_frames
from fakemq.protocol.usual_headers import take_usual_header

LENGTH_BYTES: Final = 4

_HEAD_BYTES: Final = FRAME_HEAD.size
_pack_head: Final = FRAME_HEAD.pack
_unpack_head: Final = FRAME_HEAD.unpack_from
_LENGTH_MAX: Final = FRAME_MAX_BYTES - LENGTH_BYTES
_USUAL_MAX_BYTES: Final = FRAME_MAX_BYTES - _HEAD_BYTES
_JSON: Final = int(SerializeType.JSON)
_ROCKETMQ: Final = int(SerializeType.ROCKETMQ)
_HTTP_VERBS: Final = frozenset(
    (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"CONN", b"PATC", b"TRAC")
)
_TLS_HANDSHAKE: Final = 0x16


def frame_bytes(length_word: bytes) -> int:
    """Return the size of the whole frame that starts with these 4 bytes, length word included.

    Raises RemoteProtocolError when no frame can start so: too long, or another protocol.
    """
    size = int.from_bytes(length_word, "big") + LENGTH_BYTES
    if size > FRAME_MAX_BYTES:
        raise _foreign(length_word) or RemoteProtocolError(
            f"a frame of {size} bytes; {FRAME_MAX_BYTES} is the most"
        )
    if size < _HEAD_BYTES:
        raise RemoteProtocolError(f"a frame of {size} bytes has no room for a header length")
    return size


def _foreign(start: bytes) -> ForeignProtocolError | None:
    # Whatever another protocol starts with reads as a length far over the limit, so a frame of
    # ours is never taken for one of theirs.
    if start[0] == _TLS_HANDSHAKE:
        return ForeignProtocolError(
            "a TLS handshake, which is disabled here: switch it off in the client, or start the"
            " cluster with tls=permissive"
        )
    if start == b"PRI ":
        return ForeignProtocolError(
            "an HTTP/2 preface: a gRPC client of RocketMQ 5, which needs a port of its own:"
            " --grpc-port, or Cluster(grpc=True)"
        )
    if start in _HTTP_VERBS:
        return ForeignProtocolError(
            "an HTTP request: this port speaks the RocketMQ remoting protocol"
        )
    return None


def decode_frames(
    data: bytes, commands: list[RemotingCommand], *, usual: bool = False
) -> tuple[int, int]:
    """Append the commands of all whole frames in ``data``, which begins with a frame.

    With ``usual`` the ext fields of the commonest requests are in `RemotingCommand.usual`.
    Return how many bytes they took, and how many bytes must be there before the next call can
    continue. Raise RemoteProtocolError for a bad frame; the commands before it are appended.
    """
    start, end = 0, len(data)
    while end - start >= _HEAD_BYTES:
        if usual and usual_frames is not None:
            start = usual_frames(data, start, commands)
            if end - start < _HEAD_BYTES:
                break
        head: tuple[int, int, int, int] = _unpack_head(data, start)
        length, serialize_type, header_high, header_low = head
        header_start = start + _HEAD_BYTES
        frame_end = start + LENGTH_BYTES + length
        if not header_start <= frame_end <= end or length > _LENGTH_MAX:
            break  # not whole yet, or none at all
        header_end = header_start + (header_high << 16 | header_low)
        if header_end - header_start > HEADER_MAX_BYTES:
            raise RemoteProtocolError(
                f"a header of {header_end - header_start} bytes; {HEADER_MAX_BYTES} is the most"
            )
        if header_end > frame_end:
            raise TruncatedError(
                f"Frame.header of {header_end - header_start} bytes"
                f" where {frame_end - header_start} are left"
            )
        body = data[header_end:frame_end]
        if serialize_type == _JSON:
            header = data[header_start:header_end]
            if usual:
                command = decode_usual_json_header(header, body)
            else:
                command = decode_json_header(header, body)
        elif serialize_type == _ROCKETMQ:
            command = decode_binary_header(data, header_start, header_end)
            command.body = body
            if usual:
                take_usual_header(command)
        else:
            raise RemoteProtocolError(f"serialize type {serialize_type}; 0 (JSON) and 1 are known")
        commands.append(command)
        start = frame_end
    if end - start < LENGTH_BYTES:
        return start, LENGTH_BYTES
    return start, frame_bytes(data[start : start + LENGTH_BYTES])


def decode_frame(frame: memoryview) -> RemotingCommand:
    """Return the command in one frame, length word included; TruncatedError if it ends early."""
    commands: list[RemotingCommand] = []
    used, _ = decode_frames(bytes(frame), commands)
    if used != len(frame) or len(commands) != 1:
        raise TruncatedError(f"{len(frame)} bytes are no frame, but {len(commands)}")
    return commands[0]


def encode_frame(command: RemotingCommand) -> bytes:
    """Return the frame of a command; LocalProtocolError for what the protocol cannot carry."""
    return encode_frame_start(command, len(command.body)) + command.body


def encode_frame_start(command: RemotingCommand, body_bytes: int) -> bytes:
    """Return the frame of a command up to its body, the header in ``command.serialize_type``.

    Raises LocalProtocolError for what the protocol cannot carry.
    """
    serialize_type = command.serialize_type
    if serialize_type == _ROCKETMQ:
        header = encode_binary_header(command)
    else:
        header = encode_json_header(command)
    header_bytes = len(header)
    size = _HEAD_BYTES + header_bytes + body_bytes
    if size > FRAME_MAX_BYTES:
        raise LocalProtocolError(f"{command!r} takes {size} bytes; {FRAME_MAX_BYTES} is the most")
    length = size - LENGTH_BYTES
    return _pack_head(length, serialize_type, header_bytes >> 16, header_bytes & 0xFFFF) + header


def encode_json_answer(
    code: int,
    ext_fields: dict[str, str],
    opaque: int,
    remark: str | None,
    version: int,
    body_bytes: int,
) -> bytes | None:
    """Return what `encode_frame_start` does for a response with these, and no others, in JSON.

    Return None for one that is not usual, or that the protocol cannot carry.
    """
    header = encode_json_answer_header(code, ext_fields, opaque, remark, version)
    if header is None or len(header) + body_bytes > _USUAL_MAX_BYTES:
        return None
    header_bytes = len(header)
    length = _HEAD_BYTES - LENGTH_BYTES + header_bytes + body_bytes
    return _pack_head(length, _JSON, header_bytes >> 16, header_bytes & 0xFFFF) + header
