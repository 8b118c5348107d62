"""The binary header against bytes written by hand, and its lean reader against the declaration."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError, TruncatedError
from fakemq.protocol.header_binary import (
    _decode_any,
    _decode_usual,
    _encode_any,
    _encode_usual,
    decode_binary_header,
    encode_binary_header,
)

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


def test_header_equals_bytes_written_by_hand() -> None:
    assert decode_binary_header(HEADER) == COMMAND
    assert encode_binary_header(COMMAND) == HEADER


def test_nulls_have_length_zero_and_empty_strings_become_null() -> None:
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
def test_shortened_header_is_truncated(size: int) -> None:
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
def test_oversized_value_is_a_local_error(command: RemotingCommand) -> None:
    command.serialize_type = SerializeType.ROCKETMQ
    with pytest.raises(LocalProtocolError, match="does not fit a binary header"):
        encode_binary_header(command)


# -- lean against declared ------------------------------------------------------------------------

int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
sound = st.text(st.characters(exclude_categories=["Cs"]))


@st.composite
def commands(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> RemotingCommand:
    return RemotingCommand(
        draw(int16),
        ext_fields=draw(st.dictionaries(texts, texts, max_size=6)),
        flag=draw(int32),
        opaque=draw(int32),
        remark=draw(st.none() | texts),
        language=draw(st.sampled_from(LanguageCode)),
        version=draw(int16),
        serialize_type=SerializeType.ROCKETMQ,
    )


@given(commands(sound), st.binary(max_size=20), st.binary(max_size=20))
@settings(deadline=None)
def test_well_formed_header_is_parsed_once(
    command: RemotingCommand, before: bytes, behind: bytes
) -> None:
    header = encode_binary_header(command)
    assert header == _encode_any(command)
    end = len(before) + len(header)
    for _ in range(2):  # the second time by the places of the first
        read = _decode_usual(before + header + behind, len(before), end)
        assert read is not None
        assert read == _decode_any(header)


@given(commands(st.text(st.characters(max_codepoint=0x7F), min_size=1, max_size=127)))
@settings(deadline=None)
def test_short_ascii_is_written_in_one_piece(command: RemotingCommand) -> None:
    assert _encode_usual(command) == _encode_any(command)


@given(
    commands(sound),
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=4),
    st.integers(-6, 6),
    st.binary(max_size=20),
)
@settings(deadline=None, max_examples=500)
def test_quick_reader_agrees_with_the_declaration(
    command: RemotingCommand, damage: list[tuple[int, int]], longer: int, behind: bytes
) -> None:
    data = bytearray(encode_binary_header(command))
    decode_binary_header(bytes(data))  # so that the places of its fields are known
    for at, byte in damage:
        data[at % len(data)] = byte
    end = len(data) + longer
    data = (data + behind).ljust(end, b"\0")
    read = _decode_usual(bytes(data), 0, end)
    if read is not None:
        assert read == _decode_any(bytes(data[:end]))


@given(commands(st.text()))
@settings(deadline=None)
def test_lone_surrogate_is_written_as_by_java(command: RemotingCommand) -> None:
    assert encode_binary_header(command) == _encode_any(command)


def test_length_of_more_than_16_bits_is_refused() -> None:
    field = (2**15).to_bytes(2) + b"k" * 2**15 + b"\0\0\0\1v"
    with pytest.raises(RemoteProtocolError, match="of -32768 bytes"):
        decode_binary_header(HEADER[:13] + bytes(4) + len(field).to_bytes(4) + field)
