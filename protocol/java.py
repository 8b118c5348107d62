"""What Java's standard library does where a peer or a file can see it."""

from __future__ import annotations

import re
import struct
import zlib
from array import array
from math import copysign
from operator import mul
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeAlias, TypeVar

from fakemq.protocol.errors import NumberFormatError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

INT_MAX: Final = (1 << 31) - 1
LONG_MAX: Final = (1 << 63) - 1
LONG_MIN: Final = -(1 << 63)
CRC32_MASK: Final = 0x7FFF_FFFF
"""What RocketMQ keeps of a CRC32: its top bit is cleared."""

_CHUNK: Final = 64
_POWERS: Final = tuple(pow(31, n, 1 << 32) for n in range(_CHUNK, -1, -1))
"""31 to the power of 64, 63, … 0, modulo 2³²."""


class JavaHashed(Protocol):
    """What knows its own hashCode."""

    def java_hash(self) -> int: ...
    def __hash__(self) -> int: ...


T = TypeVar("T")
JavaKey = TypeVar("JavaKey", bound="str | int | JavaHashed | None")

_Buckets: TypeAlias = dict[int, list[tuple[int, JavaKey]]]
"""A map's buckets that are not empty, by their number: hash codes and keys."""


def enum_pattern(*names: str) -> str:
    """Return a pattern of the names of an enum, which are in its order, for a field of a bean."""
    return rf"^({'|'.join(names)})\Z"


def enum_names(pattern: str) -> list[str]:
    """Return the names in a pattern of `enum_pattern`."""
    return pattern[2:-3].split("|")


def int32(value: int) -> int:
    """``value`` as Java's ``(int)`` cast leaves it."""
    return (value + 0x8000_0000 & 0xFFFF_FFFF) - 0x8000_0000


def int64(value: int) -> int:
    """``value`` as Java's arithmetic of longs leaves it."""
    return (value + (1 << 63) & (1 << 64) - 1) - (1 << 63)


def java_string_hash(text: str) -> int:
    """String.hashCode: over UTF-16 units, an int32."""
    units: bytes | array[int]
    if text.isascii():
        units = text.encode("ascii")
    else:
        # The bytes are laid out as this machine reads them, which "utf-16-le" would not promise.
        encoded = text.encode("utf-16", "surrogatepass")[2:]
        units = array("H", encoded)
    total = 0
    for start in range(0, len(units), _CHUNK):
        chunk = units[start : start + _CHUNK]
        power = _POWERS[_CHUNK - len(chunk)]
        # map stops at the shorter one, so the tail is cut to end with 31⁰.
        added = sum(map(mul, chunk, _POWERS[_CHUNK + 1 - len(chunk) :]))
        total = total * power + added & 0xFFFF_FFFF
    return int32(total)


def consistent_hash(key: int, buckets: int) -> int:
    """Return the bucket of a key: few keys move when a bucket is added.

    Source: com.google.common.hash.Hashing#consistentHash (Guava 32)
    """
    state = key & 0xFFFF_FFFF_FFFF_FFFF
    candidate = 0
    while True:
        state = (2862933555777941757 * state + 1) & 0xFFFF_FFFF_FFFF_FFFF
        (high,) = struct.unpack(">i", struct.pack(">I", ((state >> 33) + 1) & 0xFFFF_FFFF))
        following = int((candidate + 1) / (high / 2147483648.0)) if high else 1 << 31
        if 0 <= following < buckets:
            candidate = following
        else:
            return candidate


def java_hash(key: str | int | JavaHashed | None) -> int:
    """hashCode of null, of a String, of an Integer (of a Long beyond int32), or of its own.

    A Long below zero hashes unlike the Integer of the same value; ours is the Integer's.
    """
    if isinstance(key, str):
        return java_string_hash(key)
    if key is None:
        return 0
    if not isinstance(key, int):
        return key.java_hash()
    if -0x8000_0000 <= key <= 0x7FFF_FFFF:
        return key
    return int32(key ^ (key & 0xFFFF_FFFF_FFFF_FFFF) >> 32)


def java_hash_map_order(keys: Iterable[JavaKey], initial_capacity: int = 16) -> list[JavaKey]:
    """Return the keys as a java.util.HashMap (or HashSet) filled in this order iterates over them.

    ``initial_capacity`` is the constructor's argument. Since a resize splits each bucket and
    keeps its order, only the final capacity and the order of insertion count. Differs: Java
    reorders a bucket of more than eight entries (it becomes a tree, or, in a table of fewer than
    64 buckets, makes the table grow early); ours does not.

    Source: java.util.HashMap#putVal, #resize, #hash (JDK 8 and later)
    """
    unique = list(dict.fromkeys(keys))
    mask = _capacity(len(unique), initial_capacity) - 1
    codes = [java_hash(key) & 0xFFFF_FFFF for key in unique]
    buckets = [(code ^ code >> 16) & mask for code in codes]
    return [unique[index] for index in sorted(range(len(unique)), key=buckets.__getitem__)]


def java_concurrent_map_order(
    keys: Iterable[JavaKey], initial_capacity: int | None = None
) -> list[JavaKey]:
    """As `java_hash_map_order`, of a java.util.concurrent.ConcurrentHashMap.

    It differs from a HashMap in three points: 1. It begins larger than ``initial_capacity``.
    2. It grows when three quarters are full, not only beyond that. 3. It reverses most of a bucket
    when it grows. Without ``initial_capacity`` it is as after the constructor without arguments.

    Source: java.util.concurrent.ConcurrentHashMap#putVal, #addCount, #transfer (JDK 8 and later)
    """
    return _result_of(java_concurrent_map_order_in_steps(keys, initial_capacity))


def _result_of(steps: Generator[None, None, T]) -> T:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


_KEYS_A_STEP: Final = 200
_FIRST_INTS: Final = frozenset(range(16))


def java_hash_map_order_in_steps(
    keys: Iterable[JavaKey], initial_capacity: int = 16
) -> Generator[None, None, list[JavaKey]]:
    """`java_hash_map_order`, of many keys: it yields after some of them."""
    unique = list(dict.fromkeys(keys))
    mask = _capacity(len(unique), initial_capacity) - 1
    buckets: dict[int, list[JavaKey]] = {}
    for number, key in enumerate(unique, 1):
        code = java_hash(key) & 0xFFFF_FFFF
        buckets.setdefault((code ^ code >> 16) & mask, []).append(key)
        if not number % _KEYS_A_STEP:
            yield
    order: list[JavaKey] = []
    for numbers in _parts(mask + 1):
        order += [key for at in numbers if at in buckets for key in buckets[at]]
        yield
    return order


def java_concurrent_map_order_in_steps(
    keys: Iterable[JavaKey], initial_capacity: int | None = None
) -> Generator[None, None, list[JavaKey]]:
    """`java_concurrent_map_order`, of many keys: it yields after some of them."""
    unique = dict.fromkeys(keys)
    if (initial_capacity is None or initial_capacity >= 16) and _FIRST_INTS.issuperset(unique):
        # Queue ids, mostly: each has a bucket of its own, also after growth.
        return sorted(unique, key=hash)
    order = JavaConcurrentMapOrder[JavaKey](initial_capacity)
    yield from order.add_all_in_steps(unique)
    keys_in_order: list[JavaKey] = []
    for numbers in _parts(order.capacity):
        keys_in_order += [
            key for at in numbers if at in order.buckets for _, key in order.buckets[at]
        ]
        yield
    return keys_in_order


class JavaConcurrentMapOrder(Generic[JavaKey]):
    """The buckets of a ConcurrentHashMap; it iterates over them by their number."""

    def __init__(self, initial_capacity: int | None = None) -> None:
        self.capacity = 16
        if initial_capacity is not None:
            self.capacity = _capacity(0, initial_capacity + (initial_capacity >> 1) + 1)
        self.buckets: _Buckets[JavaKey] = {}
        """Number → hash codes and keys, of the buckets that are not empty."""
        self._codes: dict[JavaKey, int] = {}

    def __contains__(self, key: JavaKey) -> bool:
        return key in self._codes

    def __len__(self) -> int:
        return len(self._codes)

    def bucket_of(self, key: JavaKey) -> int:
        """Return the number of the bucket of a key that is there."""
        return self._codes[key] & self.capacity - 1

    def add(self, key: JavaKey) -> bool:
        """Add a new key; return whether that made the map grow: then all buckets are others."""
        if not self._add(key):
            return False
        _result_of(self._grow())
        return True

    def add_all_in_steps(self, keys: Iterable[JavaKey]) -> Generator[None, None, None]:
        """Add many new keys."""
        for number, key in enumerate(keys, 1):
            if self._add(key):
                yield from self._grow()
            if not number % _KEYS_A_STEP:
                yield

    def remove(self, key: JavaKey) -> None:
        """Remove a key that is there."""
        at = self.bucket_of(key)
        bucket = self.buckets[at]
        bucket.remove((self._codes.pop(key), key))
        if not bucket:
            del self.buckets[at]

    def _add(self, key: JavaKey) -> bool:
        """Add a key; return whether the map has to grow now."""
        code = java_hash(key) & 0xFFFF_FFFF
        code ^= code >> 16
        self._codes[key] = code
        self.buckets.setdefault(code & self.capacity - 1, []).append((code, key))
        return len(self._codes) >= self.capacity * 3 // 4

    def _grow(self) -> Generator[None, None, None]:
        """Double the capacity: each bucket stays where it is, moves as it is, or is divided."""
        capacity = self.capacity
        grown: _Buckets[JavaKey] = {}
        for number, (at, bucket) in enumerate(self.buckets.items(), 1):
            if len(bucket) == 1:  # as most are
                grown[at + (bucket[0][0] & capacity)] = bucket
            else:
                # The end of a bucket that moves as one keeps its order, what stands before is put
                # in front one by one.
                end = len(bucket) - 1
                while end and (bucket[end - 1][0] ^ bucket[-1][0]) & capacity == 0:
                    end -= 1
                for code, key in (*reversed(bucket[end:]), *bucket[:end]):
                    grown.setdefault(at + (code & capacity), []).insert(0, (code, key))
            if not number % _KEYS_A_STEP:
                yield
        self.buckets = grown
        self.capacity = 2 * capacity


_BUCKETS_A_STEP: Final = 2_000


def _parts(capacity: int) -> Iterator[range]:
    """Return the numbers of all buckets in parts: to sort those that are used has no steps."""
    for begin in range(0, capacity, _BUCKETS_A_STEP):
        yield range(begin, min(capacity, begin + _BUCKETS_A_STEP))


def _capacity(size: int, initial_capacity: int) -> int:
    capacity = 1
    while capacity < initial_capacity:
        capacity *= 2
    while size > capacity * 3 // 4:
        capacity *= 2
    return capacity


def java_double_text(value: float) -> str:
    """Double.toString, in the shortest digits (before JDK 19 Java had a few too many)."""
    if value != value:
        return "NaN"
    size = abs(value)
    sign = "-" if value < 0 else ""
    if size == float("inf"):
        return sign + "Infinity"
    if size == 0 or 1e-3 <= size < 1e7:
        return repr(value)
    mantissa, _, exponent = repr(size).partition("e")
    whole, _, fraction = mantissa.partition(".")
    power = int(exponent or 0) + len(whole) - 1
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    digits = digits[leading:].rstrip("0")
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power - leading}"


def parse_double(text: str) -> float:
    """Double.valueOf: what Java trims around it, NaN and Infinity, hexadecimals, a final d or f.

    Raises NumberFormatError where Java throws.
    """
    try:
        if text.isascii() and "_" not in text and text[-1:].isdigit():  # nearly always, so first
            return float(text)
    except ValueError:
        pass
    trimmed = text.strip(_UP_TO_BLANK)
    if not trimmed:
        raise NumberFormatError(text, "empty String")
    match = re.fullmatch(_DOUBLE, trimmed, re.ASCII)  # re caches the pattern
    if match is None:
        raise NumberFormatError(text)
    digits = match[1] or match[3]
    if digits is not None:
        return float(digits)
    try:
        return float.fromhex(match[2])
    except OverflowError:
        return float("-inf" if trimmed[0] == "-" else "inf")


def compare_doubles(one: float, other: float) -> int:
    """Double.compareTo: -0.0 before 0.0, NaN behind everything and equal to itself."""
    if one < other:
        return -1
    if one > other:
        return 1
    if one == other:
        return 0 if one else int(copysign(1, one) - copysign(1, other))
    return (one != one) - (other != other)


_UP_TO_BLANK: Final = "".join(map(chr, range(0x21)))
"""What String.trim takes off."""

_DOUBLE: Final = (
    r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?"
    r"|([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?"
    r"|([+-]?(?:NaN|Infinity))"
)


def crc32(data: bytes | bytearray | memoryview) -> int:
    """Return the CRC32 of a body as RocketMQ keeps it, its top bit cleared.

    Source: common/UtilAll.java#crc32 (4.9.7)
    """
    return zlib.crc32(data) & CRC32_MASK
