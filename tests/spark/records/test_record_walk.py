"""Records are found at the same places whether their neighbours are of equal size or not."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.layout.codecs import RECORD_HEAD, RECORD_LEAST_BYTES
from fakemq.protocol.message import MESSAGE_MAGIC_CODE
from fakemq.spark.records.record_walk import positions_of, walked

SIZES = st.integers(0, 9).map(lambda more: RECORD_LEAST_BYTES + more)
RUNS = st.lists(st.tuples(SIZES, st.integers(1, 400)), max_size=6)


def record(size_bytes: int, magic_code: int = MESSAGE_MAGIC_CODE) -> bytes:
    return RECORD_HEAD.pack(size_bytes, magic_code).ljust(size_bytes, b"\0")


def one_by_one(data: bytes, until: int, limit: int) -> tuple[list[int], int]:
    found, position = [], 0
    while position < min(until, len(data) - RECORD_HEAD.size + 1):
        size_bytes, magic_code = RECORD_HEAD.unpack_from(data, position)
        fits = RECORD_LEAST_BYTES <= size_bytes <= limit - position
        if magic_code != MESSAGE_MAGIC_CODE or not fits:
            break
        found.append(position)
        position += size_bytes
    return found, position


@given(RUNS, st.data())
def test_walk_finds_what_single_steps_find(
    runs: list[tuple[int, int]], data: st.DataObject
) -> None:
    sizes = [size for size, count in runs for _ in range(count)]
    log = bytearray(b"".join(map(record, sizes)))
    is_damaged = data.draw(st.booleans())
    if sizes and is_damaged:
        at = data.draw(st.integers(0, len(sizes) - 1))
        log[sum(sizes[:at]) + data.draw(st.integers(0, 7))] ^= data.draw(st.integers(1, 255))
    cut = bytes(log[: len(log) - data.draw(st.integers(0, min(len(log), 200)))])
    until = data.draw(st.integers(0, len(log) + 1))
    limit = data.draw(st.integers(len(cut), len(log)))
    positions, end = walked(cut, 0, until, limit)
    assert (positions.tolist(), end) == one_by_one(cut, until, limit)


def test_body_of_a_pull_must_be_records_up_to_its_end() -> None:
    equal = record(100) * 300
    assert positions_of(equal).tolist() == list(range(0, 30_000, 100))
    for wrong in (equal[:-1], equal + b"\0", equal + record(100, 1), equal + record(-1)):
        with pytest.raises(RemoteProtocolError, match=r"no record at \d+ of \d+ bytes"):
            positions_of(wrong)
