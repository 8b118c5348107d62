"""The body of a SEND_BATCH_MESSAGE, declared in layout/record.py.

Source: common/message/MessageDecoder.java#encodeMessages, #decodeMessages (4.9.7)
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fakemq.protocol.layout.codecs import build_batch_member, parse_batch_member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PART_MEMBERS: Final = 100
"""How many members `batch_parts` returns at a time."""
Fields: TypeAlias = "tuple[int, int, bytes, int, bytes]"
"""Of a member: its flag, the bytes of its body, the body, the same of its properties."""


class BatchMember(NamedTuple):
    """One message of a batch; ``properties`` is the string of them as UTF-8."""

    body: bytes
    properties: bytes = b""
    flag: int = 0


def encode_batch(members: Iterable[BatchMember]) -> bytes:
    """Return the body of a batch. LocalProtocolError for properties over 32767 bytes."""
    return b"".join(
        [
            build_batch_member(0, 0, member.flag, member.body, member.properties)
            for member in members
        ]
    )


def decode_batch(body: bytes | bytearray | memoryview) -> list[BatchMember]:
    """Return the members of a batch.

    Raises TruncatedError if the last one is cut off, RemoteProtocolError for a negative length;
    what a member says of its own size, magic and CRC is not looked at, as in Java.
    """
    return [
        BatchMember(data, properties, flag)
        for part in batch_parts(body)
        for flag, _, data, _, properties in part
    ]


def batch_parts(data: bytes | bytearray | memoryview) -> Iterator[list[Fields]]:
    """Yield the members of a batch, `PART_MEMBERS` at a time, and raise, as `decode_batch`.

    There are two cases:
    1. The members seem to be as large as the first, as those of many producers are: the members of
       a part are unpacked together, up to the first part that has another one.
    2. Each may have another size, which its fields say.
    """
    at, end = 0, len(data)
    if end:
        _, _, _, _, body, properties, size_bytes = parse_batch_member(data)
        if not end % size_bytes:
            first, second = len(body), len(properties)
            view, equal, part_bytes = (
                memoryview(data),
                _equal(first, second),
                PART_MEMBERS * size_bytes,
            )
            while at < end:
                part = list(equal(view[at : at + part_bytes]))
                if [1 for _, one, _, other, _ in part if one != first or other != second]:
                    break
                yield part
                at += part_bytes
    while at < end:
        part = []
        while at < end and len(part) < PART_MEMBERS:
            _, _, _, flag, body, properties, at = parse_batch_member(data, at)
            part.append((flag, len(body), body, len(properties), properties))
        yield part


@lru_cache(maxsize=64)
def _equal(body_bytes: int, properties_bytes: int) -> Callable[[memoryview], Iterator[Fields]]:
    """Return what unpacks members with these sizes that follow each other."""
    return struct.Struct(f">12x2i{body_bytes}sh{properties_bytes}s").iter_unpack
