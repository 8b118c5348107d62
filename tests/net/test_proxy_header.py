"""The header of load balancers: both versions, cut anywhere, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.net.headed_link import ProxyHeader, ProxyHeaderError

V2 = b"\r\n\r\n\0\r\nQUIT\n"
V2_IPV4 = V2 + b"\x21\x11\0\x0f" + b"\x0a\0\0\x09\x0a\0\0\x01" + b"\x16\x2e\0\x50" + b"\x04\0\0"
V2_IPV6 = V2 + b"\x21\x21\0\x24" + bytes(15) + b"\x01" + bytes(15) + b"\x02" + b"\0\x07\0\x50"


@pytest.mark.parametrize(
    ("header", "source"),
    [
        (b"PROXY TCP4 10.0.0.9 10.0.0.1 5678 80\r\n", "10.0.0.9:5678"),
        (b"PROXY TCP6 ::1 ::2 7 80\r\n", "[::1]:7"),
        (b"PROXY UNKNOWN\r\n", ""),
        (b"PROXY UNKNOWN what ever\r\n", ""),
        (V2_IPV4, "10.0.0.9:5678"),
        (V2_IPV6, "[::1]:7"),
        (V2 + b"\x20\0\0\0", ""),
        (V2 + b"\x21\x31\0\x03abc", ""),
        (b"", ""),
    ],
)
@pytest.mark.parametrize("rest", [b"PRI * HTTP/2.0", b"\x16\x03\x01\0\0", b"\r\n", b"X"])
def test_header_is_taken_however_it_is_cut(header: bytes, source: str, rest: bytes) -> None:
    data = header + rest
    for cut in range(len(data)):
        reader, got = ProxyHeader(), b""
        for piece in (data[:cut], data[cut:]):
            if got:
                got += piece
            elif piece:
                got = reader.receive(piece) or b""
        if got:  # else the rest may be the beginning of a header
            assert (got, reader.source) == (rest, source)
        else:
            assert rest in (b"\r\n", b"PRI * HTTP/2.0")


@pytest.mark.parametrize(
    "data",
    [
        b"PROXY TCP4 10.0.0.9 10.0.0.1 x 80\r\n",
        b"PROXY TCP4 10.0.0.9\r\n",
        b"PROXY TCP5 a b 1 2\r\n",
        b"PROXY TCP4 host b 1 2\r\n",
        b"PROXY " + b"x" * 200,
        V2 + b"\x31\x11\0\0",
        V2 + b"\x21\x11\0\x04abcd",
        V2 + b"\x21\x11\xff\xff",
    ],
)
def test_wrong_header_is_refused(data: bytes) -> None:
    with pytest.raises(ProxyHeaderError):
        ProxyHeader().receive(data)


@given(st.sampled_from([b"", b"PROXY ", b"PROXY TCP4 ", V2, V2 + b"\x21"]), st.binary())
def test_any_bytes_are_taken_or_refused(start: bytes, data: bytes) -> None:
    reader = ProxyHeader()
    try:
        rest = reader.receive(start + data)
    except ProxyHeaderError:
        return
    assert (start + data).endswith(rest or b"")
    assert reader.held_bytes <= len(start + data)
