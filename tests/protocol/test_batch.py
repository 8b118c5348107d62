"""Batches of messages: encoding and decoding of a request body."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.batch import (
    BatchMember,
    decode_batch,
    encode_batch,
)
from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError, TruncatedError
from fakemq.protocol.layout.codecs import parse_batch_member

MEMBERS = st.lists(
    st.builds(
        BatchMember,
        st.binary(max_size=30),
        st.binary(max_size=30),
        st.integers(-(2**31), 2**31 - 1),
    ),
    max_size=5,
)


@given(MEMBERS)
def test_batch_is_decoded_as_encoded(members: list[BatchMember]) -> None:
    body = encode_batch(members)
    assert decode_batch(body) == members
    assert decode_batch(memoryview(body)) == members


def one_by_one(body: bytes) -> list[BatchMember] | None:
    """Return each member; None if one is bad."""
    at, found = 0, []
    try:
        while at < len(body):
            _, _, _, flag, data, properties, at = parse_batch_member(body, at)
            found.append(BatchMember(data, properties, flag))
    except RemoteProtocolError:
        return None
    return found


@given(
    st.lists(st.sampled_from([b"x", b"y", b"z", b"w" * 24]), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3),
)
def test_members_of_one_size_are_read_as_each_would_be(
    bodies: list[bytes], damage: list[tuple[int, int]]
) -> None:
    body = bytearray(encode_batch(BatchMember(one) for one in bodies))  # 23 bytes each, or twice 23
    for at, value in damage:
        body[at % len(body)] = value
    expected = one_by_one(bytes(body))
    try:
        assert decode_batch(body) == expected
    except RemoteProtocolError:
        assert expected is None


def test_batch_has_javas_layout() -> None:
    assert encode_batch([BatchMember(b"hi", b"a\x01b", 7)]).hex() == (
        "0000001b0000000000000000000000070000000268690003610162"
    )


@given(MEMBERS.filter(bool))
def test_truncated_batch_is_refused(members: list[BatchMember]) -> None:
    body = encode_batch(members)
    last = len(encode_batch(members[-1:]))
    for end in range(len(body) - last + 1, len(body)):
        with pytest.raises(TruncatedError):
            decode_batch(body[:end])


def test_negative_lengths_are_refused() -> None:
    with pytest.raises(RemoteProtocolError, match="body of -1 bytes"):
        decode_batch(bytes(16) + b"\xff\xff\xff\xff\0\0")


def test_length_of_properties_is_limited() -> None:
    encode_batch([BatchMember(b"", b"p" * 32767)])
    with pytest.raises(LocalProtocolError):
        encode_batch([BatchMember(b"", b"p" * 32768)])
