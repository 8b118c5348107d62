"""Commit logs as rows, whole, torn and damaged, in one part and in many."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")

import pyarrow as pa  # type: ignore[import-untyped]

from fakemq.errors import ConfigError, StoreError
from fakemq.protocol.message import BLANK_MAGIC_CODE, encode_record
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.spark.options import Options
from fakemq.spark.records import message_columns, record_table
from fakemq.spark.store_source import store_ddl, store_fields
from fakemq.spark.stores import log_walk
from fakemq.spark.stores import options as store_options
from fakemq.spark.stores import parts as store_parts
from fakemq.spark.stores.log import log_batches
from fakemq.spark.stores.options import NAME
from fakemq.spark.stores.parts import log_parts, nodes_of
from fakemq.store.stored_file import StoredFile

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
    """Write a commit log with these bodies. Return where each record begins."""
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
    options = store_options.store_options(Options(NAME, {"path": str(root), **given}))
    schema = pa.schema([(name, arrow) for name, _, arrow in store_fields(options)])
    rows = []
    for node in nodes_of(options):
        for part in log_parts(node, options):
            for batch in log_batches(part, options, schema):
                assert batch.schema == schema
                rows += batch.to_pylist()
    return sorted(rows, key=lambda row: (row["node"], row["file"], row["filePosition"]))


def damage_of(rows: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(row["file"], row["filePosition"], row["recordBytes"]) for row in rows if row["damage"]]


def flip(root: Path, at: int, bits: int = 0xFF) -> None:
    path = root / "commitlog" / f"{at // FILE_BYTES * FILE_BYTES:020}"
    data = bytearray(path.read_bytes())
    data[at % FILE_BYTES] ^= bits
    path.write_bytes(data)


def cut_small(patch: pytest.MonkeyPatch, part_bytes: int) -> None:
    """Use parts of this number of bytes, cut as if no record could be larger than these."""
    patch.setattr(store_parts, "LARGEST_RECORD_BYTES", 0)
    patch.setattr(log_walk, "LARGEST_RECORD_BYTES", 400)
    patch.setattr(store_options, "_LEAST_PARTITION_BYTES", 1)
    patch.setattr(store_options, "_MAX_PARTITION_BYTES", part_bytes)


BODIES = [b"body %d " % number * 10 for number in range(40)]


def test_every_record_is_a_row(tmp_path: Path) -> None:
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
@settings(max_examples=20, deadline=None)  # writes and reads files
def test_damage_affects_its_record_only(
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


@given(
    st.integers(300, FILE_BYTES),
    st.lists(st.tuples(st.integers(0, 9_000), st.integers(1, 255)), max_size=3),
)
@settings(max_examples=20, deadline=None)  # writes and reads files
def test_every_record_is_read_once_however_the_log_is_split(
    tmp_path_factory: pytest.TempPathFactory, part_bytes: int, flips: list[tuple[int, int]]
) -> None:
    root = tmp_path_factory.mktemp("store") / "broker-a-0"
    bodies = [b"x" * (number * 7 % 90) for number in range(40)]
    write_log(root, bodies)
    for at, bits in flips:
        if (root / "commitlog" / f"{at // FILE_BYTES * FILE_BYTES:020}").exists():
            flip(root, at, bits)
    uncut = read(root)
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch, part_bytes)
        assert read(root) == uncut


@given(st.lists(st.tuples(st.integers(0, 9_000), st.integers(1, 255)), max_size=4))
@settings(max_examples=20, deadline=None)  # writes and reads files
def test_equal_properties_change_no_row(
    tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[int, int]]
) -> None:
    root = tmp_path_factory.mktemp("store") / "broker-a-0"
    write_log(root, [b"x" * (number % 3) for number in range(40)])
    for at, bits in flips:
        if (root / "commitlog" / f"{at // FILE_BYTES * FILE_BYTES:020}").exists():
            flip(root, at, bits)
    rows = read(root, includeProperties="true")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(message_columns, "_equal_names", lambda pieces: None)
        assert read(root, includeProperties="true") == rows


def test_search_for_a_boundary_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = write_log(tmp_path, BODIES, file_bytes=20_000)
    log = log_walk.LogFile(str(tmp_path / "commitlog" / f"{0:020}"), f"{0:020}")
    places_of, looked_to = StoredFile.places, 0

    def watched(file: StoredFile, wanted: bytes, position: int, end: int) -> Iterator[int]:
        nonlocal looked_to
        for at in places_of(file, wanted, position, end):
            looked_to = max(looked_to, at)
            yield at
        looked_to = max(looked_to, end)

    monkeypatch.setattr(StoredFile, "places", watched)
    assert log.boundary(places[2] - 5, log.size_bytes) == places[2]
    assert looked_to < places[3], "not all of a file for each of its parts"


def test_record_like_bytes_in_a_body_are_no_boundary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    around = len(record(0, 0, b""))
    inner = record(around - len("orders" + "KEYS_k0_UNIQ_KEY_U0") - 3, 7, b"inner")
    places = write_log(tmp_path / "broker-a-0", [inner, b"next"])
    body_at = (tmp_path / "broker-a-0/commitlog" / f"{0:020}").read_bytes().index(inner)
    assert body_at == int.from_bytes(inner[28:36])  # it is a whole record that says it is here
    for part_bytes in range(1, 500, 7):
        cut_small(monkeypatch, part_bytes)
        assert [row["commitLogOffset"] for row in read(tmp_path)] == places


@pytest.mark.parametrize("written", range(0, 165, 3))
def test_unfinished_last_record_is_no_damage(tmp_path: Path, written: int) -> None:
    places = write_log(tmp_path, BODIES[:5])
    path = tmp_path / "commitlog" / f"{0:020}"
    data = path.read_bytes()
    path.write_bytes(data[: places[4] + written].ljust(FILE_BYTES, b"\0"))
    assert [row["commitLogOffset"] for row in read(tmp_path)] == places[:4]


def test_records_after_planning_are_left_for_the_next_read(tmp_path: Path) -> None:
    options = store_options.store_options(Options(NAME, {"path": str(tmp_path)}))
    places = write_log(tmp_path, BODIES[:5])
    path = tmp_path / "commitlog" / f"{0:020}"
    data = path.read_bytes()
    path.write_bytes(data[: places[3]].ljust(FILE_BYTES, b"\0"))
    (node,) = nodes_of(options)
    (part,) = log_parts(node, options)
    path.write_bytes(data)
    schema = pa.schema([("commitLogOffset", pa.int64())])
    (batch,) = log_batches(part, options, schema)
    assert batch["commitLogOffset"].to_pylist() == places[:3]


def test_hole_before_further_records_is_damage(tmp_path: Path) -> None:
    places = write_log(tmp_path, BODIES)
    for path in list((tmp_path / "commitlog").iterdir()):
        data = path.read_bytes()
        begin = int(path.name)
        for number in (3, 4, 20):
            at = places[number] - begin
            if 0 <= at < FILE_BYTES:
                size_bytes = len(record(0, number, BODIES[number]))
                data = data[:at] + bytes(size_bytes) + data[at + size_bytes :]
        path.write_bytes(data)
    rows = read(tmp_path)
    assert [row["commitLogOffset"] for row in rows if not row["damage"]] == [
        place for number, place in enumerate(places) if number not in (3, 4, 20)
    ]
    first = next(row for row in rows if row["damage"])
    assert (first["filePosition"], first["recordBytes"]) == (places[3], places[5] - places[3])
    assert "zeros" in first["damage"]
    message_columns = set(first) - {"node", "file", "filePosition", "recordBytes", "damage"}
    assert {first[name] for name in message_columns} == {None}


def test_missing_and_empty_files_are_damage(tmp_path: Path) -> None:
    write_log(tmp_path, BODIES)
    files = sorted((tmp_path / "commitlog").iterdir())
    files[1].unlink()
    files[2].write_bytes(bytes(FILE_BYTES))
    found = [(row["file"][-4:], row["damage"]) for row in read(tmp_path) if row["damage"]]
    assert found == [
        ("4000", "the previous file ends at 2000, this one begins at 4000"),
        ("4000", "neither a record nor a blank, and another file follows"),
    ]


def test_file_deleted_meanwhile_is_damage(
    tmp_path: Path,
) -> None:
    places = write_log(tmp_path, BODIES)
    options = store_options.store_options(Options(NAME, {"path": str(tmp_path)}))
    parts = [part for node in nodes_of(options) for part in log_parts(node, options)]
    min((tmp_path / "commitlog").iterdir()).unlink()
    schema = pa.schema([(name, arrow) for name, _, arrow in store_fields(options)])
    rows = [
        row
        for part in parts
        for batch in log_batches(part, options, schema)
        for row in batch.to_pylist()
    ]
    assert damage_of(rows) == [(f"commitlog/{0:020}", 0, FILE_BYTES)]
    found = [row["commitLogOffset"] for row in rows if not row["damage"]]
    assert found == [place for place in places if place >= FILE_BYTES]


def test_nodes_in_folders_of_one_name_are_distinguished(tmp_path: Path) -> None:
    for name in ("a/store", "b/store", "b/broker-b-0", "c/broker-b-0"):
        write_log(tmp_path / name, BODIES[:1])
    (tmp_path / "link").symlink_to(tmp_path / "a/store")
    roots = ["a/store", "b/store", "b/broker-b-0", "link"]
    paths = json.dumps([str(tmp_path / root) for root in roots])
    rows = [(row["node"], row["broker"]) for row in read(tmp_path / "c/broker-b-0", paths=paths)]
    assert rows == [
        ("a/store", None),
        ("b/broker-b-0", "broker-b"),
        ("b/store", None),
        ("c/broker-b-0", "broker-b"),
    ]


def test_damage_column_has_a_unique_name(tmp_path: Path) -> None:
    write_log(tmp_path, BODIES[:1])
    with pytest.raises(ConfigError, match="'Topic', and view log has such a column already"):
        read(tmp_path, columnNameOfCorruptRecord="Topic")
    options = {"path": str(tmp_path), "columnNameOfCorruptRecord": "what`s wrong"}
    ddl = store_ddl(store_options.store_options(Options(NAME, options)))
    assert ddl.endswith(", `what``s wrong` string")


def test_preallocated_file_costs_nothing(tmp_path: Path) -> None:
    places = write_log(tmp_path, BODIES)
    next_file = tmp_path / "commitlog" / f"{(places[-1] // FILE_BYTES + 1) * FILE_BYTES:020}"
    with open(next_file, "wb") as file:
        file.truncate(1 << 40)
    assert len(read(tmp_path)) == len(BODIES)


def test_file_that_is_shortened_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    write_log(tmp_path, [b"x" * 9_000] * 100, file_bytes=1 << 20)
    log = tmp_path / "commitlog" / f"{0:020}"
    file = log_walk.LogFile(str(log), f"{0:020}")
    os.truncate(log, 4096)
    with pytest.raises(ConfigError, match=r"0: was shortened while it was read$"):
        file.records(0, file.size_bytes, 1 << 20)


def test_body_is_decompressed_or_reported_as_damage(tmp_path: Path) -> None:
    log = tmp_path / "commitlog"
    log.mkdir()
    plain = b"again and " * 50
    packed = zlib.compress(plain)
    data = b""
    for body in (packed, packed[:-9], packed, b"no zlib"):
        data += record(len(data), 0, body, sys_flag=MessageSysFlag.COMPRESSED)
    (log / f"{0:020}").write_bytes(data.ljust(FILE_BYTES, b"\0"))
    rows = read(tmp_path)
    assert [row["value"] for row in rows if not row["damage"]] == [plain, plain]
    assert [row["damage"].partition(":")[0] for row in rows if row["damage"]] == [
        "the body is no zlib",
        "the body is no zlib",
    ]


def test_small_bodies_that_inflate_make_several_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_table, "MOST_UNPACKED_BYTES", 2_500)
    log = tmp_path / "commitlog"
    log.mkdir()
    data = b""
    for number in range(9):
        body = zlib.compress(b"%d" % number * 1_000)
        data += record(len(data), number, body, sys_flag=MessageSysFlag.COMPRESSED)
    (log / f"{0:020}").write_bytes(data.ljust(FILE_BYTES, b"\0"))
    options = store_options.store_options(Options(NAME, {"path": str(tmp_path)}))
    (node,) = nodes_of(options)
    (part,) = log_parts(node, options)
    schema = pa.schema([("offset", pa.int64()), ("value", pa.binary())])
    batches = [batch.to_pylist() for batch in log_batches(part, options, schema)]
    assert [len(batch) for batch in batches] == [3, 3, 3]
    assert [row["value"] for batch in batches for row in batch] == [
        b"%d" % number * 1_000 for number in range(9)
    ]


def test_mode_decides_about_damage(tmp_path: Path) -> None:
    places = write_log(tmp_path, BODIES)
    flip(tmp_path, places[2] + 100)
    assert len(damage_of(read(tmp_path, mode="permissive"))) == 1
    assert len(read(tmp_path, mode="DROPMALFORMED")) == len(BODIES) - 1
    with pytest.raises(StoreError, match=rf"commitlog/0{{20}}: position {places[2]}: CRC"):
        read(tmp_path, mode="FAILFAST")


def test_topics_and_times_are_selected(tmp_path: Path) -> None:
    write_log(tmp_path, BODIES)
    flip(tmp_path, 100)
    assert [row["damage"] is None for row in read(tmp_path, topic="bills, other")] == [False]
    rows = read(tmp_path, topic="orders", startingTimestamp="2005", endingTimestamp="2010")
    assert [row["offset"] for row in rows if not row["damage"]] == [5, 6, 7, 8, 9]
