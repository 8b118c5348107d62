"""The bits of a consumer group's filter, as consumerFilter.json has them.

A broker with extensions of its consume queues marks each message there with the bits of the filters
that it matches.

Source: filter/util/BloomFilter.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Iterable

from fakemq.protocol.java import int32

_MASK = 2**64 - 1
_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


class BloomFilter:
    """A filter of ``bits`` bits; each text sets ``hashes`` of them."""

    def __init__(self, bits: int, hashes: int) -> None:
        self.bits = bits
        self.hashes = hashes

    @property
    def size(self) -> tuple[int, int]:
        """Bits and hashes: filters of different sizes cannot be compared."""
        return self.bits, self.hashes

    def bit_positions(self, text: str) -> list[int]:
        """Source: BloomFilter.java#calcBitPositions"""
        hash64 = murmur3_64(text.encode("utf-8", "replace"))
        low, high = int32(hash64), int32(hash64 >> 32)
        combined = (int32(low + number * high) for number in range(1, self.hashes + 1))
        return [(~value if value < 0 else value) % self.bits for value in combined]

    def bit_map(self, texts: Iterable[str]) -> bytes:
        """Return the bits of all these texts. Source: filter/util/BitsArray.java (4.9.7)"""
        found = 0
        for text in texts:
            for position in self.bit_positions(text):
                found |= 1 << position
        return found.to_bytes(self.bits // 8, "little")

    def hits(self, text: str, bit_map: bytes) -> bool:
        """Return whether all bits of a text are in a bit map of this size."""
        bits = int.from_bytes(bit_map, "little")
        return all(bits >> position & 1 for position in self.bit_positions(text))


def murmur3_64(data: bytes) -> int:
    """Return the first 64 bits of MurmurHash3 x64 128 with seed 0, as Guava's murmur3_128."""
    h1 = h2 = 0
    whole = len(data) & ~15
    for at in range(0, whole, 16):
        h1 ^= _mixed_1(int.from_bytes(data[at : at + 8], "little"))
        h1 = (_rotated(h1, 27) + h2) * 5 + 0x52DCE729 & _MASK
        h2 ^= _mixed_2(int.from_bytes(data[at + 8 : at + 16], "little"))
        h2 = (_rotated(h2, 31) + h1) * 5 + 0x38495AB5 & _MASK
    h1 ^= _mixed_1(int.from_bytes(data[whole : whole + 8], "little")) ^ len(data)
    h2 ^= _mixed_2(int.from_bytes(data[whole + 8 :], "little")) ^ len(data)
    h1 = h1 + h2 & _MASK
    h2 = h2 + h1 & _MASK
    return _final(h1) + _final(h2) & _MASK


def _rotated(value: int, left: int) -> int:
    return (value << left | value >> 64 - left) & _MASK


def _mixed_1(block: int) -> int:
    return _rotated(block * _C1 & _MASK, 31) * _C2 & _MASK


def _mixed_2(block: int) -> int:
    return _rotated(block * _C2 & _MASK, 33) * _C1 & _MASK


def _final(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33
