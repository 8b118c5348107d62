"""The body of a SEND_BATCH_MESSAGE, declared in layout/batch.py.

Source: common/message/MessageDecoder.java#encodeMessages, #decodeMessages (4.9.7)
"""

from __future__ import annotations

import struct
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.protocol.layout.codecs import build_batch_member, parse_batch_member
from fakemq.protocol.properties import PROPERTY_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SEPARATOR: Final = PROPERTY_SEPARATOR.encode()


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


def decode_batch(
    body: bytes | bytearray | memoryview, at_most: int | None = None
) -> list[BatchMember]:
    """Return the members of a batch; with ``at_most``, one more than that at most.

    Raises TruncatedError if the last one is cut off, RemoteProtocolError for a negative length;
    what a member says of its own size, magic and CRC is not looked at, as in Java.
    """
    return list(islice(batch_members(body), None if at_most is None else at_most + 1))


def batch_members(body: bytes | bytearray | memoryview) -> Iterator[BatchMember]:
    """Yield the members of a batch, and raise, as `decode_batch`."""
    for flag, data, properties in member_fields(body):
        yield BatchMember(data, properties, flag)


def member_fields(
    data: bytes | bytearray | memoryview,
) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield flag, body and properties of the members of a batch, and raise, as `decode_batch`.

    There are two cases:
    1. The members seem to be as large as the first, as those of many producers are: they are
       unpacked together, up to the first that is not.
    2. Each may have another size, which its fields say.
    """
    at, end = 0, len(data)
    if end:
        _, _, _, flag, body, properties, at = parse_batch_member(data)
        yield flag, body, properties
        size_bytes, body_bytes, properties_bytes = at, len(body), len(properties)
        if not end % size_bytes:
            equal = _equal_members(body_bytes, properties_bytes)
            for _, _, _, flag, size, body, more, properties in equal(memoryview(data)[at:]):
                if size != body_bytes or more != properties_bytes:
                    break
                yield flag, body, properties
                at += size_bytes
    while at < end:
        _, _, _, flag, body, properties, at = parse_batch_member(data, at)
        yield flag, body, properties


@lru_cache(maxsize=64)
def _equal_members(
    body_bytes: int, properties_bytes: int
) -> Callable[[memoryview], Iterator[tuple[int, int, int, int, int, bytes, int, bytes]]]:
    """Return what unpacks members with these sizes that follow each other."""
    return struct.Struct(f">5i{body_bytes}sh{properties_bytes}s").iter_unpack


def member_properties(own: bytes, of_batch: bytes) -> bytes:
    """Return what a broker stores as the properties of a member: its own, then those of the batch.

    Source: store/CommitLog.java#MessageExtEncoder.encode(MessageExtBatch) (4.9.7)
    """
    if own and of_batch and not own.endswith(_SEPARATOR):
        return own + _SEPARATOR + of_batch
    return own + of_batch
