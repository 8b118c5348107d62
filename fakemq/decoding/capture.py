"""Reads the TCP streams of a capture: pcap, as tcpdump writes it, or pcapng, as Wireshark does."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from operator import itemgetter
from typing import NamedTuple

from fakemq.decoding.fields import BrokenError, Problem
from fakemq.protocol.hosts import Host, format_host

_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1_000),
    b"\xa1\xb2\xc3\xd4": (">", 1_000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Magic → byte order, and nanoseconds of a unit of its times."""
_PCAPNG = b"\x0a\x0d\x0d\x0a"
_NULL, _ETHERNET, _RAW, _LOOP, _SLL, _SLL2 = 0, 1, 101, 108, 113, 276
_IPV4, _IPV6 = 0x0800, 0x86DD
_TCP = 6
_SYN, _FIN, _RST = 2, 1, 4
_HALF = 1 << 31
_MOST_PENDING_BYTES = 64 << 20
"""How much of one direction may wait for a segment that is missing."""


class Packet(NamedTuple):
    """What the capture has of one packet, from its link layer on."""

    at_ms: int
    link: int
    data: bytes


class Segment(NamedTuple):
    """One segment of TCP."""

    at_ms: int
    source: Host
    target: Host
    sequence: int
    flags: int
    data: bytes


class CapturedStream:
    """One direction of one connection: its bytes in order, and when each part came."""

    def __init__(self, source: Host, target: Host) -> None:
        self.source, self.target = source, target
        self.data = bytearray()
        self.from_begin = False
        """Whether the capture has the begin of the connection."""
        self.times: list[tuple[int, int]] = []
        """(offset, ms): the bytes from there on came then."""
        self.lost_bytes = 0
        self._first: int | None = None
        """The sequence number of place 0. Places are offsets in what was sent, with lost bytes;
        unlike sequence numbers they never begin again at 0."""
        self._early: list[tuple[int, int, Segment]] = []
        """A heap of segments behind a hole: (place, number, segment)."""
        self._early_bytes = 0
        self._numbers = count()

    @property
    def name(self) -> str:
        return f"{format_host(self.source)} > {format_host(self.target)}"

    @property
    def _reached(self) -> int:
        """The place behind ``data``."""
        return len(self.data) + self.lost_bytes

    def add(self, segment: Segment) -> None:
        """Take the segment's bytes; those that came before are left out."""
        begin = segment.sequence
        if segment.flags & _SYN:
            begin += 1
            if self._first is None:
                self._first, self.from_begin = begin, True
        if not segment.data:
            return
        if self._first is None:
            self._first = begin
        # The difference of two sequence numbers counts modulo 2^32.
        ahead = (begin - self._first - self._reached + _HALF) % (2 * _HALF) - _HALF
        heappush(self._early, (self._reached + ahead, next(self._numbers), segment))
        self._early_bytes += len(segment.data)
        self._take_reached()
        while self._early_bytes > _MOST_PENDING_BYTES:
            self._skip_hole()

    def end(self) -> None:
        """Take what waits behind segments that the capture does not have."""
        while self._early:
            self._skip_hole()

    def at_ms(self, offset: int) -> int:
        """Return when the byte at an offset came."""
        number = bisect_right(self.times, offset, key=itemgetter(0))
        return self.times[number - 1][1] if number else 0

    def _skip_hole(self) -> None:
        self.lost_bytes += self._early[0][0] - self._reached
        self._take_reached()

    def _take_reached(self) -> None:
        """Take the early segments that begin at or before the place reached."""
        while self._early and self._early[0][0] <= self._reached:
            place, _, segment = heappop(self._early)
            self._early_bytes -= len(segment.data)
            data = segment.data[self._reached - place :]
            if data:
                self.times.append((len(self.data), segment.at_ms))
                self.data += data


class CapturedTraffic(NamedTuple):
    """The directions of all TCP connections, in the order of their first packets.

    ``problem`` says where no further packet can be read, such as at the end of a cut file.
    """

    streams: list[CapturedStream]
    problem: Problem | None


def is_capture(data: bytes) -> bool:
    """Return whether a file begins as a capture does."""
    return data[:4] in _PCAP or data[:4] == _PCAPNG


def read(data: bytes) -> CapturedTraffic:
    """Put the TCP connections of a capture together, as far as its packets can be read."""
    found: dict[tuple[Host, Host], CapturedStream] = {}
    seen: set[tuple[object, ...]] = set()
    every: list[CapturedStream] = []
    problem = None
    try:
        for packet in _packets(data):
            segment = _segment(packet)
            if segment is None:
                continue
            key = (segment.source, segment.target)
            # Loopback shows some systems' packets twice.
            once = (*key, segment.sequence, segment.flags, len(segment.data))
            is_new = segment.flags & _SYN and key in found and once not in seen
            if key not in found or is_new:
                found[key] = CapturedStream(*key)
                every.append(found[key])
            if segment.flags & _SYN:
                seen.add(once)
            found[key].add(segment)
    except BrokenError as error:
        problem = error.problem
    for stream in every:
        stream.end()
    return CapturedTraffic([stream for stream in every if stream.data], problem)


def _packets(data: bytes) -> Iterator[Packet]:
    return _of_pcapng(data) if data[:4] == _PCAPNG else _of_pcap(data)


def _of_pcap(data: bytes) -> Iterator[Packet]:
    if data[:4] not in _PCAP:
        raise BrokenError(0, f"0x{data[:4].hex()} is the begin of no pcap and no pcapng")
    order, unit_ns = _PCAP[data[:4]]
    if len(data) < 24:
        raise BrokenError(0, f"a capture of {len(data)} bytes; its head has 24")
    link = struct.unpack_from(f"{order}I", data, 20)[0] & 0xFFFF
    at = 24
    while at < len(data):
        if len(data) - at < 16:
            raise BrokenError(
                at,
                f"the capture is cut: the head of a packet has 16 bytes; {len(data) - at} are left",
            )
        seconds, parts, size, _ = struct.unpack_from(f"{order}4I", data, at)
        at += 16
        if size > len(data) - at:
            raise BrokenError(
                at - 8, f"the capture is cut: a packet has {size} bytes; {len(data) - at} are left"
            )
        yield Packet(seconds * 1000 + parts * unit_ns // 1_000_000, link, data[at : at + size])
        at += size


def _of_pcapng(data: bytes) -> Iterator[Packet]:
    order, at = "<", 0
    interfaces: list[tuple[int, int]] = []
    while at < len(data):
        if len(data) - at < 12:
            raise BrokenError(
                at, f"the capture is cut: a block has 12 bytes or more; {len(data) - at} are left"
            )
        if data[at : at + 4] == _PCAPNG:
            order = "<" if data[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces.clear()
        kind, size = struct.unpack_from(f"{order}2I", data, at)
        if size < 12 or size % 4:
            raise BrokenError(at + 4, f"a block of {size} bytes; expected 12 or more, in fours")
        if size > len(data) - at:
            raise BrokenError(
                at + 4, f"the capture is cut: a block has {size} bytes; {len(data) - at} are left"
            )
        body = data[at + 8 : at + size - 4]
        if kind == 1 and len(body) >= 8:
            interfaces.append((struct.unpack_from(f"{order}H", body)[0], _unit_ns(body[8:], order)))
        elif kind == 6 and len(body) >= 20:
            number, high, low, kept, _ = struct.unpack_from(f"{order}5I", body)
            if number >= len(interfaces) or kept > len(body) - 20:
                raise BrokenError(at, "a packet of an unknown interface, or longer than its block")
            link, unit_ns = interfaces[number]
            at_ms = (high << 32 | low) * unit_ns // 1_000_000
            yield Packet(at_ms, link, body[20 : 20 + kept])
        at += size


def _unit_ns(options: bytes, order: str) -> int:
    """Return the nanoseconds of an interface's unit of time: by default a microsecond."""
    at = 0
    while at + 4 <= len(options):
        code, size = struct.unpack_from(f"{order}2H", options, at)
        if code == 9 and size == 1 and not options[at + 4] & 0x80 and options[at + 4] <= 9:
            power: int = 10 ** (9 - options[at + 4])
            return power
        if code == 0:
            break
        at += 4 + size + -size % 4
    return 1_000


def _segment(packet: Packet) -> Segment | None:
    """Return a packet's TCP segment; None for anything else, and for parts of packets."""
    data = packet.data
    if packet.link == _ETHERNET:
        kind, at = int.from_bytes(data[12:14], "big"), 14
    elif packet.link == _SLL:
        kind, at = int.from_bytes(data[14:16], "big"), 16
    elif packet.link == _SLL2:
        kind, at = int.from_bytes(data[0:2], "big"), 20
    elif packet.link in (_NULL, _LOOP):
        kind, at = 0, 4
    elif packet.link == _RAW:
        kind, at = 0, 0
    else:
        raise BrokenError(0, f"a capture of link type {packet.link}; Ethernet, loopback, raw IP and"
                             " Linux's \"any\" are known")  # fmt: skip
    if len(data) <= at:
        return None
    if not kind:
        kind = _IPV4 if data[at] >> 4 == 4 else _IPV6
    if kind == _IPV4 and len(data) >= at + 20 and data[at + 9] == _TCP:
        total = int.from_bytes(data[at + 2 : at + 4], "big") or len(data) - at
        ends = [".".join(map(str, data[at + place : at + place + 4])) for place in (12, 16)]
        return _of_tcp(packet, ends, data[at + (data[at] & 15) * 4 : at + total])
    if kind == _IPV6 and len(data) >= at + 40 and data[at + 6] == _TCP:
        from ipaddress import IPv6Address

        total = 40 + int.from_bytes(data[at + 4 : at + 6], "big")
        ends = [str(IPv6Address(data[at + place : at + place + 16])) for place in (8, 24)]
        return _of_tcp(packet, ends, data[at + 40 : at + total])
    return None


def _of_tcp(packet: Packet, ends: list[str], tcp: bytes) -> Segment | None:
    if len(tcp) < 20:
        return None
    source, target, sequence, _, offset, flags = struct.unpack_from(">HHIIBB", tcp)
    data = tcp[(offset >> 4) * 4 :]
    return Segment(packet.at_ms, (ends[0], source), (ends[1], target), sequence, flags, bytes(data))
