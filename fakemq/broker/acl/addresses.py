"""Patterns of addresses that need no key, in all forms of Java: one, several, a range, any.

======================================  ==========================================
``10.0.0.1``, ``::1``                   this address
``10.0.0.1,10.0.0.2``                   these addresses
``10.0.0.{1,2}``, ``1::{8,9}``          these last parts
``10.0.0.*``, ``10.0.*.*``, ``5::*``    any last parts
``10.0.0.1-9``, ``10.0.1-9.*``, ``5::1-ff``  last parts of a range, in hexadecimals for IPv6
``*``, ``*.*.*.*``, ``*:*:*:*:*:*:*:*``  every address
nothing                                 no address
======================================  ==========================================

Differs: Java takes some patterns that let each later request fail with an exception of the JVM,
such as ``*.1.1.1``. Here they are refused where they are read.

Source: acl/plain/RemoteAddressStrategyFactory.java, acl/common/AclUtils.java (4.9.7),
org.apache.commons.validator.routines.InetAddressValidator (1.7)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from fakemq.broker.acl.errors import AclError

_V4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_V6_PARTS = 8
_GROUP = re.compile(r"\+?[0-9a-fA-F]{1,4}")


class AddressPattern(Protocol):
    """Says of an address whether it needs no key."""

    def matches(self, host: str) -> bool:
        """Return whether the pattern has this address, a text without a port."""


class _Every:
    def matches(self, host: str) -> bool:
        return True


class _None:
    def matches(self, host: str) -> bool:
        return False


class _Several:
    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = set()
        for address in addresses:
            if is_ipv4(address):
                self._addresses.add(address)
            elif is_ipv6(address):
                self._addresses.add(expanded(address, _V6_PARTS))
            else:
                raise _no_address(address)

    def matches(self, host: str) -> bool:
        return (expanded(host, _V6_PARTS) if is_ipv6(host) else host) in self._addresses


class _One:
    def __init__(self, address: str) -> None:
        if not (is_ipv4(address) or is_ipv6(address)):
            raise _no_address(address)
        self._address = expanded(address, _V6_PARTS)

    def matches(self, host: str) -> bool:
        return expanded(host, _V6_PARTS) == self._address


class _RangeV4:
    """Any last parts, or the numbers of a range; the parts behind the range do not count."""

    def __init__(self, pattern: str) -> None:
        parts = _split(pattern, ".")
        for index in range(1, 4):
            found = _limits(_at(parts, index).strip(), 10, 255)
            if found is not None:
                break
        else:
            raise _fails_later(pattern)
        self._low, self._high = found
        self._index = index
        if len(parts) != 4 or any(not 0 <= _number(part) <= 255 for part in parts[: index - 1]):
            raise _no_scope(pattern)
        self._head = "".join(f"{part.strip()}." for part in parts[:index])

    def matches(self, host: str) -> bool:
        if not (is_ipv4(host) and host.startswith(self._head)):
            return False
        return self._low <= int(host.split(".")[self._index]) <= self._high


class _RangeV6:
    """As `_RangeV4`; the numbers of the range are hexadecimals."""

    def __init__(self, pattern: str) -> None:
        _check_ends(pattern)
        parts = _split(pattern, ":")
        for index in range(1, len(parts)):
            found = _limits(parts[index].strip(), 16, 0xFFFF)
            if found is not None:
                break
        else:
            raise _fails_later(pattern)
        self._low, self._high = found
        groups = _split(expanded(pattern, _V6_PARTS), ":")
        if any(not _is_group(_at(groups, number)) for number in range(index - 1)):
            raise _no_scope(pattern)
        self._head = _head_of(pattern)
        self._index = len(_split(self._head, ":"))
        if self._index >= _V6_PARTS:
            raise _fails_later(pattern)

    def matches(self, host: str) -> bool:
        if not is_ipv6(host):
            return False
        address = expanded(host, _V6_PARTS)
        if not address.startswith(self._head):
            return False
        begin = 5 * self._index
        return self._low <= _number(address[begin : begin + 4], 16) <= self._high


EVERY: AddressPattern = _Every()
NONE: AddressPattern = _None()
_EVERYWHERE = frozenset(("*", "*.*.*.*", "*:*:*:*:*:*:*:*"))


def address_pattern(text: str | None) -> AddressPattern:
    """Return the pattern of a text; raise AclError with Java's message if it is none.

    Source: acl/plain/RemoteAddressStrategyFactory.java#getRemoteAddressStrategy (4.9.7)
    """
    if text is None or not text.strip():
        return NONE
    if text in _EVERYWHERE:
        return EVERY
    if text.endswith("}"):
        return _Several(_last_parts(text))
    if "," in text:
        return _Several(_split(text, ","))
    if "*" in text or "-" in text:
        return _RangeV6(text) if ":" in text else _RangeV4(text)
    return _One(text)


def _last_parts(text: str) -> list[str]:
    parts = _split(text, ":" if ":" in text else ".")
    if ":" not in text and len(parts) < 4:
        raise AclError("MultipleRemoteAddressStrategy has got a/some wrong format IP(s) ")
    if not parts[-1].startswith("{"):
        raise AclError(
            "MultipleRemoteAddressStrategy netaddress examine scope Exception netaddress"
        )
    begin = text[: text.index("{")]
    return [begin + part for part in _split(parts[-1][1:-1], ",")]


def _limits(value: str, base: int, most: int) -> tuple[int, int] | None:
    """Return the least and the highest number of a part; None if it is not a range."""
    if value == "*":
        return 0, most
    if "-" not in value:
        return None
    if value.startswith("-"):
        raise AclError(
            f"RangeRemoteAddressStrategy netaddress examine scope Exception value {value} "
        )
    ends = _split(value, "-")
    low, high = _number(_at(ends, 0), base), _number(_at(ends, 1), base)
    if not 0 <= low <= high <= most:
        raise AclError(
            "RangeRemoteAddressStrategy netaddress examine scope Exception"
            f" start is {low} , end is {high}"
        )
    return (low, high) if high else None


def _check_ends(pattern: str) -> None:
    """Raise AclError unless an asterisk and a range stand at the end.

    Source: acl/common/AclUtils.java#IPv6AddressCheck (4.9.7)
    """
    asterisk, minus = pattern.find("*"), pattern.find("-")
    if asterisk >= 0 and asterisk != len(pattern) - 1:
        raise _no_scope(pattern)
    if minus >= 0:
        last = pattern.rfind(":")
        if asterisk >= 0:
            last = pattern.rfind(":", 0, last)
        if minus <= last:
            raise _no_scope(pattern)


def _head_of(pattern: str) -> str:
    """Return what an address must begin with. Source: acl/common/AclUtils.java#v6ipProcess."""
    head, parts = pattern[: pattern.rfind(":")], _V6_PARTS - 1
    if "*" in pattern and "-" in pattern:
        head, parts = head[: head.rfind(":")], parts - 1
    return expanded(head, parts)


def expanded(address: str, parts: int) -> str:
    """Return an IPv6 address in capitals, each group of four digits; "::" is written out.

    Source: acl/common/AclUtils.java#expandIP (4.9.7)
    """
    address = address.upper()
    missing = parts - address.count(":")
    if missing > 0:
        address = address.replace("::", ":" * (missing + 1))
    return ":".join(group.rjust(4, "0") for group in address.split(":"))


def is_ipv4(text: str) -> bool:
    """Return whether a text is an IPv4 address; no number begins with a needless zero."""
    return _V4.fullmatch(text) is not None and all(
        part == "0" or (not part.startswith("0") and int(part) <= 255) for part in text.split(".")
    )


def is_ipv6(text: str) -> bool:
    """Return whether a text is an IPv6 address, perhaps with a zone and the size of a prefix."""
    address, slash, size = text.partition("/")
    if slash and not (size.isascii() and size.isdigit() and len(size) < 4 and int(size) <= 128):
        return False
    address, percent, zone = address.partition("%")
    if percent and (not zone or any(one.isspace() or one in "/%" for one in zone)):
        return False
    short = address.count("::")
    if address.find("::") != address.rfind("::"):
        return False
    if address.startswith(":") != address.startswith("::"):
        return False
    if address.endswith(":") != address.endswith("::"):
        return False
    groups = [group for group in address.split(":") if group]
    count = len(groups)
    if groups and "." in groups[-1] and not address.endswith(":"):
        if not is_ipv4(groups.pop()):
            return False
        count += 1
    if any(not _GROUP.fullmatch(group) for group in groups):
        return False
    return count < _V6_PARTS + (not short) if short else count == _V6_PARTS


def _is_group(text: str) -> bool:
    try:
        return 0 <= _number(text, 16) <= 0xFFFF
    except AclError:
        return False


def _number(text: str, base: int = 10) -> int:
    """Integer.parseInt; AclError with the text of Java's exception."""
    digits = text.strip() if base == 10 else text
    plain = digits[1:] if digits[:1] in ("+", "-") else digits
    try:
        if not (plain.isascii() and plain.isalnum()):
            raise ValueError(text)
        return int(digits, base)
    except ValueError:
        radix = "" if base == 10 else f" under radix {base}"
        raise AclError(f'For input string: "{digits}"{radix}') from None


def _split(text: str, separator: str) -> list[str]:
    """StringUtils.split: without empty parts."""
    return [part for part in text.split(separator) if part]


def _at(parts: Sequence[str], index: int) -> str:
    if index >= len(parts):
        raise AclError(f"Index {index} out of bounds for length {len(parts)}")
    return parts[index]


def _no_address(text: str) -> AclError:
    return AclError(f"Netaddress examine Exception netaddress is {text}")


def _no_scope(pattern: str) -> AclError:
    return AclError(f"Netaddress examine scope Exception netaddress is {pattern}")


def _fails_later(pattern: str) -> AclError:
    return AclError(
        f"{pattern}: with this pattern RocketMQ knows no address, or lets requests fail;"
        " expected * or a range as the last parts, not as the first"
    )
