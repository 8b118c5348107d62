"""The body of a SEND_BATCH_MESSAGE, declared in layout/batch.py.

Source: common/message/MessageDecoder.java#encodeMessages, #decodeMessages (4.9.7)
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.protocol.layout.codecs import build_batch_member, parse_batch_member
from fakemq.protocol.properties import PROPERTY_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    offset = 0
    while offset < len(body):
        _, _, _, flag, data, properties, offset = parse_batch_member(body, offset)
        yield BatchMember(data, properties, flag)


def member_properties(own: bytes, of_batch: bytes) -> bytes:
    """Return what a broker stores as the properties of a member: its own, then those of the batch.

    Source: store/CommitLog.java#MessageExtEncoder.encode(MessageExtBatch) (4.9.7)
    """
    if own and of_batch and not own.endswith(_SEPARATOR):
        return own + _SEPARATOR + of_batch
    return own + of_batch
