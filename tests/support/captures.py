"""Captures of TCP connections, as tcpdump and Wireshark write them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

SYN, ACK = 2, 16
CLIENT, BROKER = ("127.0.0.1", 40_000), ("127.0.0.1", 10_911)


class Sent(NamedTuple):
    """One segment: from where, where to, its sequence number, flags and bytes."""

    source: tuple[str, int]
    target: tuple[str, int]
    sequence: int
    data: bytes = b""
    flags: int = ACK


def ip_packet(sent: Sent) -> bytes:
    """The IPv4 packet of a segment."""
    tcp = struct.pack(
        ">HHIIBBHHH", sent.source[1], sent.target[1], sent.sequence, 0, 5 << 4, sent.flags, 0, 0, 0
    )
    hosts = b"".join(bytes(map(int, end[0].split("."))) for end in (sent.source, sent.target))
    total = 20 + len(tcp) + len(sent.data)
    return struct.pack(">BBHHHBBH", 0x45, 0, total, 0, 0, 64, 6, 0) + hosts + tcp + sent.data


def pcap(segments: Iterable[Sent], *, order: str = "<", link: int = 1) -> bytes:
    """A capture of tcpdump; the segments come a millisecond apart, from 1,000 s on."""
    head = {
        1: b"\0" * 12 + b"\x08\0",
        101: b"",
        0: struct.pack("<I", 2),
        113: b"\0" * 14 + b"\x08\0",
    }
    out = struct.pack(f"{order}IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, link)
    for number, sent in enumerate(segments):
        data = head[link] + ip_packet(sent)
        out += struct.pack(f"{order}4I", 1_000, number * 1_000, len(data), len(data)) + data
    return out


def pcapng(segments: Iterable[Sent]) -> bytes:
    """The same as Wireshark writes it, of Ethernet."""

    def block(kind: int, body: bytes) -> bytes:
        body += b"\0" * (-len(body) % 4)
        size = len(body) + 12
        return struct.pack("<II", kind, size) + body + struct.pack("<I", size)

    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack("<HHI", 1, 0, 0))
    for number, sent in enumerate(segments):
        data = b"\0" * 12 + b"\x08\0" + ip_packet(sent)
        at_us = 1_000_000_000 + number * 1_000
        head = struct.pack("<5I", 0, at_us >> 32, at_us & 0xFFFFFFFF, len(data), len(data))
        out += block(6, head + data)
    return out
