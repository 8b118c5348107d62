"""Addresses as stored records hold them, IPv4 and IPv6."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.errors import LocalProtocolError
from fakemq.protocol.hosts import (
    Host,
    format_host,
    pack_host,
    parse_host,
    record_host,
    unpack_host,
)

HOSTS = st.tuples(st.ip_addresses().map(str), st.integers(min_value=-(2**31), max_value=2**31 - 1))


@given(HOSTS)
def test_packed_host_is_unpacked(host: tuple[str, int]) -> None:
    packed = pack_host(host)
    assert len(packed) == (20 if ":" in host[0] else 8)
    assert unpack_host(packed) == host
    assert parse_host(format_host(host)) == host


def test_host_has_javas_layout() -> None:
    assert pack_host(("127.0.0.1", 10911)).hex() == "7f00000100002a9f"
    assert format_host(("::1", 1)) == "[::1]:1"
    assert parse_host("::1:80") == ("::1", 80)


@pytest.mark.parametrize(
    "host",
    [("localhost", 1), ("1.2.3", 1), ("1.2.3.256", 1), ("", 0), ("::g", 1), ("1.2.3.4", 1 << 31)],
)
def test_invalid_address_is_refused(host: tuple[str, int]) -> None:
    with pytest.raises(LocalProtocolError, match="no IP address and port"):
        pack_host(host)


@pytest.mark.parametrize("text", ["", "1.2.3.4", "1.2.3.4:x", "host:1"])
def test_invalid_host_text_is_refused(text: str) -> None:
    with pytest.raises(LocalProtocolError):
        parse_host(text)


@pytest.mark.parametrize(
    ("addr", "host"),
    [
        ("10.1.2.3:99", ("10.1.2.3", 99)),
        ("[::1]:99", ("::1", 99)),
        ("memory:7", ("127.0.0.1", 7)),
        ("rocketmq.example:99", ("127.0.0.1", 99)),
    ],
)
def test_record_host_is_the_local_host_when_an_address_is_a_name(addr: str, host: Host) -> None:
    assert record_host(addr) == host
