"""Frames over a connection: any split reads the same, bad bytes raise RemoteProtocolError only."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand, SerializeType
from fakemq.protocol.connection import Connection
from fakemq.protocol.errors import (
    ForeignProtocolError,
    LocalProtocolError,
    RemoteProtocolError,
    TruncatedError,
)
from fakemq.protocol.limits import FRAME_MAX_BYTES, HEADER_MAX_BYTES

int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]))
nonempty = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@st.composite
def commands(draw: st.DrawFn) -> RemotingCommand:
    binary = draw(st.booleans())  # in which length 0 reads as null
    text = nonempty if binary else texts
    return RemotingCommand(
        draw(int16 if binary else int32),
        ext_fields=draw(st.dictionaries(text, text, max_size=4)),
        body=draw(st.binary(max_size=40)),
        flag=draw(int32),
        opaque=draw(int32),
        remark=draw(st.none() | text),
        language=draw(st.sampled_from(LanguageCode)),
        version=draw(int16 if binary else int32),
        serialize_type=SerializeType.ROCKETMQ if binary else SerializeType.JSON,
    )


class ConnectionPair:
    """Two ends; whatever one sends, the other reads back, in the pieces given."""

    def __init__(self) -> None:
        self.client, self.server = Connection(), Connection()

    def send(self, sent: list[RemotingCommand], cuts: list[int]) -> list[RemotingCommand]:
        data = b"".join(self.client.encode(command) for command in sent)
        edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
        got: list[RemotingCommand] = []
        for start, end in pairwise(edges):
            got += self.server.receive_data(data[start:end])
        self.server.receive_eof()
        return got


def frame(header: bytes, body: bytes = b"", mark: int | None = None) -> bytes:
    mark = len(header) if mark is None else mark
    length = 4 + len(header) + len(body)
    return length.to_bytes(4, "big") + mark.to_bytes(4, "big") + header + body


@given(st.lists(commands(), max_size=4), st.lists(st.integers(0, 2000), max_size=8))
@settings(deadline=None)
def test_written_frames_are_read_in_any_pieces(
    sent: list[RemotingCommand], cuts: list[int]
) -> None:
    assert ConnectionPair().send(sent, cuts) == sent


@given(commands())
@settings(deadline=None, max_examples=30)
def test_frames_are_read_byte_by_byte(command: RemotingCommand) -> None:
    pair = ConnectionPair()
    assert pair.send([command, command], list(range(4000))) == [command, command]


@given(st.binary(max_size=60), st.booleans(), st.lists(st.integers(0, 100), max_size=3))
@settings(deadline=None)
def test_any_bytes_raise_only_remote_protocol_error(
    data: bytes, framed: bool, cuts: list[int]
) -> None:
    connection = Connection()
    if framed:  # get past the length
        data = (len(data) & 0xFF).to_bytes(4, "big") + data
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    with suppress(RemoteProtocolError):
        for start, end in pairwise(edges):
            connection.receive_data(data[start:end])
        connection.receive_eof()


@given(st.binary(max_size=60), st.sampled_from(SerializeType))
@settings(deadline=None)
def test_any_header_raises_only_remote_protocol_error(header: bytes, kind: SerializeType) -> None:
    connection = Connection()
    with suppress(RemoteProtocolError):
        connection.receive_data(frame(header, mark=kind << 24 | len(header)))


@given(st.lists(commands(), max_size=3), st.binary(max_size=12), st.lists(st.integers(0, 999)))
@settings(deadline=None)
def test_violation_is_the_same_in_any_pieces(
    sent: list[RemotingCommand], tail: bytes, cuts: list[int]
) -> None:
    data = b"".join(Connection().encode(command) for command in sent) + tail

    def outcome(edges: list[int]) -> tuple[list[RemotingCommand], str]:
        connection, got = Connection(), []
        try:
            for start, end in pairwise(edges):
                got += connection.receive_data(data[start:end])
            connection.receive_eof()
        except RemoteProtocolError as error:
            return got, str(error)
        return got, ""

    whole = outcome([0, len(data)])
    assert outcome(sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})) == whole
    assert outcome(list(range(len(data) + 1))) == whole
    assert whole[0][: len(sent)] == sent


@given(st.integers(0, 40), st.binary(min_size=1, max_size=3), st.sampled_from(SerializeType))
@settings(deadline=None)
def test_damaged_frame_raises_only_remote_protocol_error(
    at: int, damage: bytes, kind: SerializeType
) -> None:
    command = RemotingCommand(10, ext_fields={"a": "b"}, remark="r", serialize_type=kind)
    data = bytearray(Connection().encode(command))
    data[8 + at : 8 + at + len(damage)] = damage
    with suppress(RemoteProtocolError):
        Connection().receive_data(bytes(data))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (FRAME_MAX_BYTES.to_bytes(4, "big"), "a frame of 16777220 bytes; 16777216 is the most"),
        (b"\xff\xff\xff\xff", "a frame of 4294967299 bytes"),
        (b"\x00\x00\x00\x03", "no room for a header length"),
        (frame(b"{}", mark=3), "Frame.header of 3 bytes where 2 are left"),
        (frame(b"{}", mark=2 << 24 | 2), "serialize type 2"),
        (frame(b""), "no JSON"),
        (frame(b"nonsense"), "no JSON"),
    ],
)
@pytest.mark.parametrize("step", [1, 1000])
def test_violations_are_named_in_any_pieces(data: bytes, text: str, step: int) -> None:
    connection = Connection()

    def feed() -> None:
        for start in range(0, len(data), step):
            connection.receive_data(data[start : start + step])

    with pytest.raises(RemoteProtocolError, match=text):
        feed()
    with pytest.raises(RemoteProtocolError, match=text):
        connection.receive_data(b"more")
    with pytest.raises(RemoteProtocolError, match=text):
        connection.receive_eof()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "a gRPC client of RocketMQ 5, which needs a port of its own",
        ),
        (b"GET / HTTP/1.1\r\n", "HTTP request"),
        (b"POST / HTTP/1.1\r\n", "HTTP request"),
        (b"DELETE / HTTP/1.1\r\n", "HTTP request"),
        (bytes.fromhex("160301020001000a"), "TLS"),
    ],
)
@pytest.mark.parametrize("step", [1, 1000])
def test_other_protocols_are_named(data: bytes, text: str, step: int) -> None:
    connection = Connection()

    def feed() -> None:
        for start in range(0, len(data), step):
            connection.receive_data(data[start : start + step])

    with pytest.raises(ForeignProtocolError, match=text):
        feed()


def test_valid_frames_before_an_invalid_one_are_returned() -> None:
    connection = Connection()
    good = RemotingCommand(34, opaque=7)
    assert connection.receive_data(connection.encode(good) + b"GET / ") == [good]
    assert isinstance(connection.failure, ForeignProtocolError)
    with pytest.raises(ForeignProtocolError):
        connection.receive_data(b"")


def test_eof_within_a_frame_is_an_error() -> None:
    connection = Connection()
    connection.receive_data(b"\x00\x00")
    with pytest.raises(TruncatedError, match="closed after 2 bytes of a frame"):
        connection.receive_eof()


def test_largest_frame_in_small_pieces_is_read_in_linear_time() -> None:
    # 16 MiB in 4 KiB pieces: a second copy of the buffer per piece would take minutes.
    connection = Connection()
    room = FRAME_MAX_BYTES - len(connection.encode(RemotingCommand(10)))
    command = RemotingCommand(10, body=bytes(room))
    data = connection.encode(command)
    assert len(data) == FRAME_MAX_BYTES
    got: list[RemotingCommand] = []
    for start in range(0, len(data), 4096):
        got += connection.receive_data(data[start : start + 4096])
    assert got == [command]
    command.body += b"!"
    with pytest.raises(LocalProtocolError, match="takes 16777217 bytes"):
        connection.encode(command)


def test_opaque_wraps_like_a_java_int() -> None:
    connection = Connection()
    assert [connection.next_opaque() for _ in range(3)] == [0, 1, 2]
    connection._next_opaque = 2**31 - 1
    assert [connection.next_opaque() for _ in range(2)] == [2**31 - 1, -(2**31)]


def test_response_is_written_in_its_serialize_type() -> None:
    for kind in SerializeType:
        response = RemotingCommand(0, flag=FLAG_RESPONSE, serialize_type=kind)
        assert Connection().encode(response)[4] == kind


def test_header_that_takes_too_long_to_parse_is_refused() -> None:
    length, mark = HEADER_MAX_BYTES + 1, (HEADER_MAX_BYTES + 1).to_bytes(4)
    with pytest.raises(RemoteProtocolError, match="a header of 2097153 bytes; 2097152 is the most"):
        Connection().receive_data((4 + length).to_bytes(4) + mark + b"[" * length)
