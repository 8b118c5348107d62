"""Commit logs as rows, whole, torn and damaged, in one part and in many."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from fakemq.protocol.message import BLANK_MAGIC_CODE, encode_record
from fakemq.spark.options import Options
from fakemq.spark.store_log import log_batches
from fakemq.spark.store_options import NAME, store_options
from fakemq.spark.store_parts import log_parts, nodes_of
from fakemq.spark.store_schema import store_fields

FILE_BYTES = 2_000


def record(at: int, number: int, body: bytes, **more: Any) -> bytes:
    return encode_record(
        *("orders", body, f"KEYS\x01k{number}\x02UNIQ_KEY\x01U{number}"),
        **{"queue_id": 1, "queue_offset": number, "physical_offset": at, **more},
        born_host=("127.0.0.1", 50_000),
        store_host=("127.0.0.1", 10_911),
        born_timestamp_ms=1_000 + number,
        store_timestamp_ms=2_000 + number,
    )


def write_log(root: Path, bodies: Sequence[bytes], file_bytes: int = FILE_BYTES) -> list[int]:
    """A commit log with these bodies; gives where each record begins in the log."""
    log = root / "commitlog"
    log.mkdir(parents=True)
    data, places = b"", []
    for number, body in enumerate(bodies):
        left = file_bytes - len(data) % file_bytes
        one = record(len(data), number, body)
        if len(one) + 8 > left:
            data += struct.pack(">ii", left, BLANK_MAGIC_CODE).ljust(left, b"\0")
            one = record(len(data), number, body)
        places.append(len(data))
        data += one
    for begin in range(0, len(data), file_bytes):
        piece = data[begin : begin + file_bytes].ljust(file_bytes, b"\0")
        (log / f"{begin:020}").write_bytes(piece)
    return places


def read(root: Path, **given: str) -> list[dict[str, Any]]:
    options = store_options(Options(NAME, {"path": str(root), **given}))
    import pyarrow as pa

    schema = pa.schema([(name, arrow) for name, _, arrow in store_fields(options)])
    rows = []
    for node in nodes_of(options):
        for part in log_parts(node, options):
            for batch in log_batches(part, options, schema):
                assert batch.schema == schema
                rows += batch.to_pylist()
    return rows


def damage_of(rows: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(row["file"], row["filePosition"], row["recordBytes"]) for row in rows if row["damage"]]


def flip(root: Path, at: int, bits: int = 0xFF) -> None:
    path = root / "commitlog" / f"{at // FILE_BYTES * FILE_BYTES:020}"
    data = bytearray(path.read_bytes())
    data[at % FILE_BYTES] ^= bits
    path.write_bytes(data)


BODIES = [b"body %d " % number * 10 for number in range(40)]


def test_every_record_is_a_row_of_what_it_says(tmp_path: Path) -> None:
    root = tmp_path / "broker-a-0"
    places = write_log(root, BODIES)
    rows = read(tmp_path, includeProperties="true")
    assert [row["commitLogOffset"] for row in rows] == places
    assert [row["value"] for row in rows] == BODIES
    first = rows[0]
    assert (first["topic"], first["broker"], first["node"]) == ("orders", "broker-a", "broker-a-0")
    assert first["properties"] == [("KEYS", "k0"), ("UNIQ_KEY", "U0")]
    assert (first["key"], first["msgId"], first["damage"]) == ("k0", "U0", None)
    last = rows[-1]
    assert last["file"] == f"commitlog/{places[-1] // FILE_BYTES * FILE_BYTES:020}"
    assert last["filePosition"] == places[-1] % FILE_BYTES
    assert last["bodyCrc"] == zlib.crc32(BODIES[-1]) & 0x7FFF_FFFF


@given(
    st.lists(st.integers(0, 39), min_size=1, max_size=4, unique=True),
    st.integers(0, 200),
    st.integers(1, 255),
)
@settings(max_examples=50)
def test_damage_costs_the_record_it_is_in_and_no_other(
    tmp_path_factory: pytest.TempPathFactory, hit: list[int], inside: int, bits: int
) -> None:
    root = tmp_path_factory.mktemp("store") / "broker-a-0"
    places = write_log(root, BODIES)
    size_bytes = len(record(0, 0, BODIES[0]))
    for number in hit:
        flip(root, places[number] + inside % size_bytes, bits)
    rows = read(root)
    whole = {row["filePosition"] + int(row["file"][-20:]) for row in rows if not row["damage"]}
    assert whole >= {place for number, place in enumerate(places) if number not in hit}
    for _, position, count in damage_of(rows):
        assert count > 0
        assert position + count <= FILE_BYTES
