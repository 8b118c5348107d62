"""Tiny index files beside those of a real broker, and what both find in them.

``data/java_small_index.txt`` says by itself what it is; ``conformance/capture/index.py`` wrote it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakemq.clock.slices import finished
from fakemq.protocol.hosts import unpack_host
from fakemq.protocol.layout.codecs import parse_record
from fakemq.protocol.message import decode_record
from fakemq.protocol.properties import decode_properties
from fakemq.store.inner_message import inner_message
from tests.support.store_lab import StoreLab

LINES = [
    line.split(" ", 1)
    for line in (Path(__file__).parent / "data" / "java_small_index.txt")
    .read_text("utf-8")
    .splitlines()
]


@pytest.fixture(scope="module")
def lab() -> StoreLab:
    """A store with Java's log, message by message at Java's times."""
    lab = StoreLab(log_bytes=1 << 20, max_hash_slot_num=5, max_index_num=4)
    log, at = bytes.fromhex(LINES[0][1]), 0
    while at < len(log):
        record = parse_record(log, at)
        body, topic, properties, at = record[14:]
        text = properties.decode()
        lab.advance(record[10] - lab.clock.now_ms())
        lab.store.put_message(
            inner_message(
                topic.decode(),
                record[3],
                body,
                properties=decode_properties(text),
                properties_string=text,
                flag=record[4],
                sys_flag=record[7],
                born_timestamp_ms=record[8],
                born_host=unpack_host(record[9]),
                store_host=unpack_host(record[11]),
            )
        )
    assert lab.store.max_phy_offset == len(log)
    return lab


def test_files_equal_javas(lab: StoreLab) -> None:
    java = [bytes.fromhex(rest.split()[1]) for kind, rest in LINES if kind == "index"]
    finished(lab.store.query_message("any", "key", 1, 0, 1))
    paths = lab.files.list("index")
    assert len(java) > 4
    assert [bytes(lab.files.open(path, 0).view[:140]) for path in paths] == java


def test_results_equal_javas(lab: StoreLab) -> None:
    queries = [json.loads(rest) for kind, rest in LINES if kind == "query"]
    assert len(queries) > 150
    for key, max_num, begin_ms, end_ms, last_ms, last_offset, offsets in queries:
        found = finished(lab.store.query_message("t", key, max_num, begin_ms, end_ms))
        case = (key, max_num, begin_ms, end_ms)
        assert [decode_record(one).commit_log_offset for one in found.buffers] == offsets, case
        assert found.index_last_update_timestamp == last_ms, case
        assert found.index_last_update_phyoffset == last_offset, case
