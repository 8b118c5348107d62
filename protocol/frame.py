"""Frames: ``int32 length | int8 serialize type | int24 header length | header | body``.

The length counts everything behind itself.

Source: remoting/protocol/RemotingCommand.java#decode, remoting/netty/NettyDecoder.java (4.9.7)
"""

from __future__ import annotations

from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.errors import ForeignProtocolError, LocalProtocolError, RemoteProtocolError
from fakemq.protocol.header_binary import decode_binary_header, encode_binary_header
from fakemq.protocol.header_json import decode_json_header, encode_json_header
from fakemq.protocol.layout.twins import FRAME_HEAD, build_frame_head, parse_frame
from fakemq.protocol.limits import FRAME_MAX_BYTES

LENGTH_BYTES = 4

_HTTP_VERBS = frozenset(
    (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"CONN", b"PATC", b"TRAC")
)
_TLS_HANDSHAKE = 0x16


def frame_bytes(length_word: bytes | bytearray) -> int:
    """The size of the whole frame that starts with these 4 bytes, length word included.

    Raises RemoteProtocolError when no frame can start so: too long, or another protocol.
    """
    size = int.from_bytes(length_word, "big") + LENGTH_BYTES
    if size > FRAME_MAX_BYTES:
        raise _foreign(length_word) or RemoteProtocolError(
            f"a frame of {size} bytes; {FRAME_MAX_BYTES} is the most"
        )
    if size < FRAME_HEAD.size:
        raise RemoteProtocolError(f"a frame of {size} bytes has no room for a header length")
    return size


def _foreign(start: bytes | bytearray) -> ForeignProtocolError | None:
    # Whatever another protocol starts with reads as a length far over the limit, so a frame of
    # ours is never taken for one of theirs.
    if start[0] == _TLS_HANDSHAKE:
        return ForeignProtocolError(
            "a TLS handshake: fakemq does not speak TLS yet, switch it off in the client"
        )
    if start == b"PRI ":
        return ForeignProtocolError(
            "an HTTP/2 preface: a RocketMQ 5 gRPC client; gRPC goes to a proxy,"
            " which fakemq does not have yet: use a remoting client"
        )
    if bytes(start) in _HTTP_VERBS:
        return ForeignProtocolError(
            "an HTTP request: this port speaks the RocketMQ remoting protocol"
        )
    return None


def decode_frame(frame: memoryview) -> RemotingCommand:
    """The command in one whole frame, length word included."""
    _, serialize_type, _, header, body, _ = parse_frame(frame)
    if serialize_type == SerializeType.JSON:
        command = decode_json_header(header)
    elif serialize_type == SerializeType.ROCKETMQ:
        command = decode_binary_header(header)
    else:
        raise RemoteProtocolError(f"serialize type {serialize_type}; 0 (JSON) and 1 are known")
    command.body = body
    return command


def encode_frame(command: RemotingCommand) -> bytes:
    """The frame of a command; LocalProtocolError for what the protocol cannot carry."""
    return encode_frame_start(command, len(command.body)) + command.body


def encode_frame_start(command: RemotingCommand, body_bytes: int) -> bytes:
    """The frame of a command up to its body, the header in ``command.serialize_type``.

    Raises LocalProtocolError for what the protocol cannot carry.
    """
    if command.serialize_type is SerializeType.ROCKETMQ:
        header = encode_binary_header(command)
    else:
        header = encode_json_header(command)
    size = FRAME_HEAD.size + len(header) + body_bytes
    if size > FRAME_MAX_BYTES:
        raise LocalProtocolError(f"{command!r} takes {size} bytes; {FRAME_MAX_BYTES} is the most")
    length = size - LENGTH_BYTES
    return build_frame_head(length, command.serialize_type, len(header)) + header
