"""Patterns of addresses find what Java's find, and refuse what Java's refuse."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.acl.addresses import (
    EVERY,
    NONE,
    address_pattern,
    expanded,
    is_ipv4,
    is_ipv6,
)
from fakemq.broker.acl.errors import AclError

LINES = (Path(__file__).parent / "data" / "java_address_patterns.txt").read_text().splitlines()
ADDRESSES = LINES[1].removeprefix("# ").split(" ")
FAILS_LATER = "with this pattern RocketMQ knows no address, or lets requests fail"


def seen(pattern: str) -> tuple[str, str]:
    """What a pattern finds, in the words of the table."""
    try:
        found = address_pattern(pattern)
    except AclError as error:
        return "ERROR", str(error.message)
    return "OK", "".join("01"[found.matches(address)] for address in ADDRESSES)


def test_patterns_find_what_java_finds() -> None:
    different = []
    for line in LINES[2:]:
        pattern, kind, _, expected = line.split("\t")
        found = seen(pattern)
        useless = kind == "OK" and set(expected) <= {"0", "!"}
        if found != (kind, expected) and not (useless and FAILS_LATER in found[1]):
            different.append((pattern, found, (kind, expected)))
    assert different == []


@pytest.mark.parametrize("text", [None, "", "  "])
def test_no_text_finds_no_address(text: str | None) -> None:
    assert address_pattern(text) is NONE


@pytest.mark.parametrize("text", ["*", "*.*.*.*", "*:*:*:*:*:*:*:*"])
def test_asterisks_alone_find_every_address(text: str) -> None:
    assert address_pattern(text) is EVERY
    assert address_pattern(text).matches("memory")


V4 = st.ip_addresses(v=4)
V6 = st.ip_addresses(v=6)


@given(V4, V4)
def test_ipv4_address_finds_itself_alone(one: IPv4Address, other: IPv4Address) -> None:
    assert address_pattern(str(one)).matches(str(other)) is (one == other)
    several = address_pattern(f"{one},{other}")
    assert several.matches(str(one))
    assert several.matches(str(other))


@given(V6, V6)
def test_ipv6_address_finds_itself_in_each_spelling(one: IPv6Address, other: IPv6Address) -> None:
    spelt = (one.compressed, one.exploded, one.exploded.upper())
    for text in spelt:
        for host in spelt:
            assert address_pattern(text).matches(host)
        assert address_pattern(text).matches(str(other)) is (one == other)


@given(V4, st.integers(1, 3), V4)
def test_ipv4_asterisks_find_what_begins_alike(
    one: IPv4Address, kept: int, other: IPv4Address
) -> None:
    parts, others = str(one).split("."), str(other).split(".")
    pattern = address_pattern(".".join(parts[:kept] + ["*"] * (4 - kept)))
    assert pattern.matches(str(one))
    assert pattern.matches(str(other)) is (parts[:kept] == others[:kept])


@given(V4, st.integers(0, 255), st.integers(1, 255), st.integers(0, 255))
def test_ipv4_range_finds_the_numbers_in_it(
    one: IPv4Address, low: int, high: int, last: int
) -> None:
    head = str(one).rpartition(".")[0]
    if low > high:
        with pytest.raises(AclError, match="start is"):
            address_pattern(f"{head}.{low}-{high}")
    else:
        found = address_pattern(f"{head}.{low}-{high}").matches(f"{head}.{last}")
        assert found is (low <= last <= high)


@given(st.text("0123456789abcdef.:*-{}, %/", max_size=24), V4, V6)
def test_any_text_is_a_pattern_or_an_error(text: str, v4: IPv4Address, v6: IPv6Address) -> None:
    try:
        pattern = address_pattern(text)
    except AclError:
        return
    for host in (str(v4), str(v6), v6.exploded, "memory", "localhost", ""):
        assert pattern.matches(host) in (True, False)


@given(V4, V6)
def test_addresses_are_recognised(v4: IPv4Address, v6: IPv6Address) -> None:
    assert is_ipv4(str(v4))
    assert not is_ipv6(str(v4))
    assert is_ipv6(str(v6))
    assert is_ipv6(v6.exploded)
    assert not is_ipv4(str(v6))
    assert expanded(str(v6), 8) == v6.exploded.upper()
