"""The binary header against bytes written by hand."""

from __future__ import annotations

import pytest

from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError, TruncatedError
from fakemq.protocol.header_binary import decode_binary_header, encode_binary_header

HEADER = bytes.fromhex(
    "000a"  # code
    "09"  # GO
    "0197"  # version 407
    "00000007"  # opaque
    "00000001"  # flag
    "00000002 6f6b"  # remark
    "0000000b"  # fields
    "0001 61 00000004 62c3a963"
)
COMMAND = RemotingCommand(
    10,
    language=LanguageCode.GO,
    opaque=7,
    flag=1,
    remark="ok",
    ext_fields={"a": "béc"},
    serialize_type=SerializeType.ROCKETMQ,
)


def test_bytes_written_by_hand() -> None:
    assert decode_binary_header(HEADER) == COMMAND
    assert encode_binary_header(COMMAND) == HEADER


def test_nulls_have_length_zero_and_empty_strings_do_not_survive() -> None:
    empty = RemotingCommand(
        10, remark="", ext_fields={"a": "", "": "x"}, serialize_type=SerializeType.ROCKETMQ
    )
    got = decode_binary_header(encode_binary_header(empty))
    assert got.remark is None
    assert got.ext_fields == {}


def test_unknown_language_is_other() -> None:
    data = bytearray(HEADER)
    data[2] = 99
    assert decode_binary_header(bytes(data)).language is LanguageCode.OTHER


@pytest.mark.parametrize("size", range(len(HEADER)))
def test_every_shorter_header_is_truncated(size: int) -> None:
    with pytest.raises(TruncatedError):
        decode_binary_header(HEADER[:size])


@pytest.mark.parametrize("at", [13, 19, 23, 26])
def test_negative_lengths_are_refused(at: int) -> None:
    with pytest.raises(RemoteProtocolError, match="of -"):
        decode_binary_header(HEADER[:at] + b"\xff\xff\xff\xff" + HEADER[at + 4 :])


@pytest.mark.parametrize(
    "command",
    [
        RemotingCommand(200050),
        RemotingCommand(10, version=2**15),
        RemotingCommand(10, opaque=2**31),
        RemotingCommand(10, ext_fields={"k" * 2**15: "v"}),
    ],
)
def test_what_does_not_fit_is_our_fault(command: RemotingCommand) -> None:
    command.serialize_type = SerializeType.ROCKETMQ
    with pytest.raises(LocalProtocolError, match="does not fit a binary header"):
        encode_binary_header(command)
