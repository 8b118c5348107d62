"""Our files beside those of a real broker that was sent the same messages at the same times.

``data/java_commitlog.gz`` is what a 4.9.7 broker had in its log after the Java program of
``conformance/`` ran against it: 555 messages, single, batched, compressed, with and without keys.
Of its other files only the digests are kept. Sizes in the broker's config: see ``java_lab``.
"""

from __future__ import annotations

import gzip
from hashlib import sha256
from pathlib import Path

import pytest

from fakemq.clock.slices import finished
from fakemq.protocol.hosts import unpack_host
from fakemq.protocol.layout.codecs import parse_record
from fakemq.protocol.properties import decode_properties
from fakemq.store.inner_message import inner_message
from tests.support.store_lab import StoreLab

LOG_BYTES = 1 << 24
CONSUME_QUEUE_FILES = 173
CONSUME_QUEUES_SHA256 = "47491d5f2450ada067a2b1f5a96843e44c1e803a0a3de96a8693df2e4f9c787e"
"""Of each file in the order of paths: path, a zero byte, content."""
INDEX_SHA256 = "829b4656f0d0c7d74185d2be9430829e84e0ee9637e92d0c0abd04a6b21a583b"


@pytest.fixture(scope="module")
def java_log() -> bytes:
    return gzip.decompress((Path(__file__).parent / "data" / "java_commitlog.gz").read_bytes())


@pytest.fixture(scope="module")
def java_lab(java_log: bytes) -> StoreLab:
    lab = StoreLab(
        log_bytes=LOG_BYTES, queue_units=3000, max_hash_slot_num=10_000, max_index_num=40_000
    )
    at = 0
    while at < len(java_log):
        record = parse_record(java_log, at)
        (_, _, _, queue_id, flag, _, _, sys_flag, born_ms, born_host, stored_ms, store_host) = (
            record[:12]
        )
        reconsume_times, prepared_offset, body, topic, properties, at = record[12:]
        text = properties.decode()
        lab.advance(stored_ms - lab.clock.now_ms())
        result = lab.store.put_message(
            inner_message(
                topic.decode(),
                queue_id,
                body,
                properties=decode_properties(text),
                properties_string=text,
                flag=flag,
                sys_flag=sys_flag,
                born_timestamp_ms=born_ms,
                born_host=unpack_host(born_host),
                store_host=unpack_host(store_host),
                reconsume_times=reconsume_times,
                prepared_transaction_offset=prepared_offset,
            )
        )
        assert result.ok
    return lab


def test_commit_log_equals_javas(java_lab: StoreLab, java_log: bytes) -> None:
    (path,) = java_lab.files.list("commitlog")
    view = java_lab.files.open(path, LOG_BYTES).view
    assert java_lab.store.max_phy_offset == len(java_log)
    assert view[: len(java_log)] == java_log
    assert not any(view[len(java_log) : len(java_log) + 4096])


def test_consume_queues_equal_javas(java_lab: StoreLab) -> None:
    digest = sha256()
    paths = java_lab.files.list("consumequeue")
    for path in paths:
        content = bytes(java_lab.files.open(path, 60_000).view).ljust(60_000, b"\0")
        digest.update(path.encode() + b"\0" + content)
    assert len(paths) == CONSUME_QUEUE_FILES
    assert digest.hexdigest() == CONSUME_QUEUES_SHA256


def test_index_equals_javas(java_lab: StoreLab) -> None:
    finished(java_lab.store.query_message("any", "key", 1, 0, 1))
    (path,) = java_lab.files.list("index")
    assert sha256(java_lab.files.open(path, 840_040).view).hexdigest() == INDEX_SHA256
