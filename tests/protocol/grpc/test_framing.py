"""gRPC messages cut from a stream of bytes, within limits."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.grpc.framing import MessageError, MessageReader, framed, whole_message


@given(messages=st.lists(st.binary(max_size=40), max_size=6), data=st.data())
def test_reader_returns_what_was_framed_however_it_is_cut(
    messages: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(map(framed, messages))
    reader = MessageReader()
    got: list[bytes] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        got += reader.receive(stream[:size])
        stream = stream[size:]
    assert got == messages
    assert reader.held_bytes == 0


@given(st.lists(st.binary(max_size=30), max_size=5))
def test_reader_of_any_bytes_raises_nothing_but_message_errors(pieces: list[bytes]) -> None:
    reader = MessageReader("gzip", 64, 64)
    try:
        for piece in pieces:
            assert all(len(message) <= 64 for message in reader.receive(piece))
    except MessageError:
        return
    assert reader.held_bytes <= sum(map(len, pieces))


def test_reader_counts_what_has_not_arrived_whole() -> None:
    reader = MessageReader()
    assert list(reader.receive(framed(b"12345")[:8])) == []
    assert reader.held_bytes == 8


def compressed(message: bytes) -> bytes:
    data = gzip.compress(message)
    return b"\x01" + len(data).to_bytes(4, "big") + data


def test_reader_inflates_gzip() -> None:
    messages = MessageReader("gzip").receive(compressed(b"text") + framed(b"plain"))
    assert list(messages) == [b"text", b"plain"]


def refused(data: bytes, encoding: str = "gzip") -> MessageError:
    with pytest.raises(MessageError) as caught:
        list(MessageReader(encoding, 1000, 1000).receive(data))
    return caught.value


def test_reader_refuses_a_gzip_bomb_without_inflating_it() -> None:
    error = refused(compressed(bytes(1_001)))
    assert str(error) == "Decompressed gRPC message exceeds maximum size 1000"
    assert list(MessageReader("gzip", 1000, 1000).receive(compressed(bytes(1_000))))


def test_reader_refuses_a_length_beyond_the_limit_before_the_bytes_arrive() -> None:
    error = refused(b"\0" + (1_001).to_bytes(4, "big"))
    assert str(error) == "gRPC message exceeds maximum size 1000: 1001"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"\x02\0\0\0\0", "gzip"),
        (b"\x01\0\0\0\x01x", "gzip"),
        (b"\x01\0\0\0\0", "gzip"),
        (compressed(b"text")[:4] + b"\x08" + compressed(b"text")[5:13], "gzip"),
        (compressed(b"text"), "identity"),
        (b"\x01" + len(zlib.compress(b"x")).to_bytes(4, "big") + zlib.compress(b"x"), "gzip"),
    ],
    ids=["flag", "no gzip", "empty gzip", "cut gzip", "not announced", "zlib"],
)
def test_reader_refuses_what_is_no_message(data: bytes, encoding: str) -> None:
    assert str(refused(data, encoding))


@given(st.binary(max_size=20))
def test_message_alone_in_its_bytes_is_taken_without_a_reader(data: bytes) -> None:
    message = whole_message(framed(data))
    assert message == data
    assert whole_message(framed(data) + b"x") is None
    assert whole_message(framed(data)[:-1]) is None
