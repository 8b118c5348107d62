"""Explains stored messages: the commit log, bodies of pull responses, members of batches."""

from __future__ import annotations

from fakemq.decoding.fields import BrokenError, Explained, Field, Problem, Title, properties, shown
from fakemq.decoding.walk import collected, walk
from fakemq.protocol.java import crc32
from fakemq.protocol.layout.record import (
    BLANK_MAGIC_CODE,
    MESSAGE_MAGIC_CODE,
    BatchMember,
    Blank,
    Record,
    RecordHead,
)

_SMALLEST_BYTES = 91
"""A record with hosts of IPv4 and nothing that is counted."""


def is_record(data: bytes, start: int = 0) -> bool:
    """Return whether a record, or the blank at the end of a file, seems to begin here."""
    magic = int.from_bytes(data[start + 4 : start + 8], "big", signed=True)
    return len(data) - start >= 8 and magic in (MESSAGE_MAGIC_CODE, BLANK_MAGIC_CODE)


def records(
    data: bytes, start: int, end: int, *, depth: int = 0, origin: int = 0
) -> Explained[None]:
    """Explain records one after another; an end of zeros is that of a file which is not full."""
    number = 0
    while start < end:
        if not any(data[start : min(end, start + 64)]) and not any(data[start:end]):
            yield Title(origin + start, f"{end - start} bytes of zeros: nothing was written here")
            return
        yield Title(origin + start, f"record {number}")
        start = yield from _record(data, start, end, depth, origin)
        number += 1


def _record(data: bytes, start: int, end: int, depth: int, origin: int) -> Explained[int]:
    """Explain one record, and return where the next one begins."""
    if end - start < 8:
        raise BrokenError(origin + start, f"{end - start} bytes are left; a record begins with 8")
    head = RecordHead.parse(data[start : start + 8])
    if head.magic_code == BLANK_MAGIC_CODE:
        yield from walk(Blank, data, start, end, depth=depth, origin=origin)
        return end
    if head.magic_code != MESSAGE_MAGIC_CODE:
        raise BrokenError(
            origin + start + 4,
            f"magic_code is 0x{head.magic_code & 0xFFFFFFFF:08X}; expected 0xDAA320A7 of a record,"
            " or 0xCBD43194 of a blank",
        )
    size: int = head.total_size
    if not _SMALLEST_BYTES <= size <= end - start:
        raise BrokenError(
            origin + start,
            f"total_size is {size}; expected {_SMALLEST_BYTES} or more, and {end - start} bytes"
            " are left",
        )
    stop = start + size
    walked = collected(walk(Record, data, start, stop, depth=depth, origin=origin))
    for field in walked.fields:
        yield from _with_meaning(field)
    if walked.error is not None:
        raise walked.error
    last = walked.fields[-1]
    at, values = last.offset + last.size - origin, walked.values
    if at != stop:
        yield Problem(origin + at, f"total_size is {size}, but the fields take {at - start} bytes")
    body, crc = values["body"], values["body_crc"]
    assert isinstance(body, bytes)
    if crc32(body) != crc:
        yield Problem(
            origin + start + 8,
            f"body_crc is {crc}, but that of the body is {crc32(body)}: a byte of it has changed",
        )
    return stop


def batch(data: bytes, start: int, end: int, *, depth: int = 0, origin: int = 0) -> Explained[None]:
    """Explain the members of a batch one after another."""
    number = 0
    while start < end:
        yield Title(origin + start, f"member {number} of the batch")
        walked = collected(walk(BatchMember, data, start, end, depth=depth, origin=origin))
        for field in walked.fields:
            yield from _with_meaning(field)
        if walked.error is not None:
            raise walked.error
        last = walked.fields[-1]
        at = last.offset + last.size - origin
        start, number = at, number + 1


def _with_meaning(field: Field) -> Explained[None]:
    if field.name == "properties":
        yield field._replace(value=shown(field.value))
        yield from properties(field)
    else:
        yield field if field.note else field._replace(value=shown(field.value))
