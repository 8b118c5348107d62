"""The places of a record's fields are written once, in the declared layout."""

from __future__ import annotations

import ast
import re
import struct

import pytest

from fakemq.protocol.layout.codecs import (
    CONSUME_QUEUE_UNIT,
    CONSUME_QUEUE_UNIT_FIELDS,
    INDEX_ENTRY,
    INDEX_ENTRY_FIELDS,
    RECORD_FIELDS,
    RECORD_LEAST_BYTES,
    RECORD_V6_MORE_BYTES,
    build_record,
)
from fakemq.protocol.message import record_store_timestamp_ms, record_struct
from tests.support.imports import modules

READERS = ("store.", "broker.", "core.", "dump.", "spark.", "ha.")
"""Whatever reads stored records; other folders read other layouts."""
_STRUCT = ("Struct", "unpack", "unpack_from", "pack", "pack_into", "calcsize")
_ARRAY = ("dtype", "frombuffer", "ndarray")
_FORMAT = re.compile(r"[<>=!|][a-zA-Z]\d*")
_V4, _V6 = bytes(8), bytes(20)


def record(born_host: bytes, store_host: bytes, sys_flag: int) -> bytes:
    return build_record(
        *(1, 2, 3, 4, 5, sys_flag, 7, born_host, 8, store_host, 9, 10, b"body", b"topic", b"p")
    )


def test_record_fields_are_where_build_record_puts_them() -> None:
    fields = ("body_crc", "queue_id", "flag", "queue_offset", "physical_offset", "sys_flag")
    behind = ("born_timestamp", "store_timestamp", "reconsume_times", "body_bytes")
    read = record_struct(*fields, *behind)
    assert read.unpack_from(record(_V4, _V4, 0)) == (1, 2, 3, 4, 5, 0, 7, 8, 9, 4)
    assert len(record(_V4, _V4, 0)) == RECORD_LEAST_BYTES + len(b"bodytopicp")
    assert len(record(_V6, _V6, 0x30)) - len(record(_V4, _V4, 0)) == 2 * RECORD_V6_MORE_BYTES


@pytest.mark.parametrize(("host", "sys_flag"), [(_V4, 0), (_V6, 0x10)])
def test_store_timestamp_is_read_behind_either_kind_of_host(host: bytes, sys_flag: int) -> None:
    assert record_store_timestamp_ms(memoryview(record(host, _V4, sys_flag))) == 8


@pytest.mark.parametrize(
    ("whole", "fields"),
    [(CONSUME_QUEUE_UNIT, CONSUME_QUEUE_UNIT_FIELDS), (INDEX_ENTRY, INDEX_ENTRY_FIELDS)],
)
def test_fields_of_an_entry_are_where_its_struct_reads_them(
    whole: struct.Struct, fields: dict[str, tuple[int, str]]
) -> None:
    data = bytes(range(whole.size))
    single = [struct.unpack_from(f">{kind}", data, at)[0] for at, kind in fields.values()]
    assert tuple(single) == whole.unpack(data)


def test_readers_of_entries_write_no_array_types_of_their_own() -> None:
    """A numpy format such as ``">i4"`` in ``np.dtype([...])`` would repeat the layout."""
    bad = []
    for name, path in modules().items():
        if not name.startswith(READERS):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(_ARRAY):
                for part in ast.walk(node):
                    value = part.value if isinstance(part, ast.Constant) else None
                    if isinstance(value, str) and _FORMAT.fullmatch(value):
                        bad.append(f"{name}:{node.lineno}: {value!r}")
    assert not bad


OWN_BYTES = {"store.timer.checkpoint"}
"""Modules whose structs are of bytes that only fakemq writes, such as the mark of a checkpoint."""


def test_readers_of_records_write_no_places_of_their_own() -> None:
    """A struct format, or a constant called ``..._AT``, would repeat the layout."""
    bad = []
    for name, path in modules().items():
        if not name.startswith(READERS) or name in OWN_BYTES:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(_STRUCT):
                for argument in node.args:
                    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                        bad.append(f"{name}:{node.lineno}: {argument.value!r}")
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                for target in node.targets:
                    if isinstance(target, ast.Name) and target.id.endswith("_AT"):
                        value = node.value.value
                        if isinstance(value, int) and value in _PLACES:
                            bad.append(f"{name}:{node.lineno}: {target.id} = {value}")
    assert not bad


_PLACES = {offset for offset, _ in RECORD_FIELDS.values()} - {0, 4, 8, 12, 16}
