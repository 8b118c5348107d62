"""No compressed body makes more of itself than the limit."""

from __future__ import annotations

import tracemalloc
import zlib
from typing import Any

import pytest

from fakemq.protocol import compression
from fakemq.protocol.compression import unpack
from fakemq.protocol.errors import RemoteProtocolError

lz4: Any = pytest.importorskip("lz4.frame")
zstandard: Any = pytest.importorskip("zstandard")

LIMIT = 100_000
PACK = {
    "zlib": zlib.compress,
    "lz4": lz4.compress,
    "zstd": zstandard.ZstdCompressor(write_content_size=False).compress,
}


@pytest.fixture(autouse=True)
def _a_low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "MESSAGE_BODY_MAX_BYTES", LIMIT)


@pytest.mark.parametrize("name", PACK)
def test_body_up_to_the_limit_is_decompressed(name: str) -> None:
    assert unpack(name, PACK[name](bytes(LIMIT))) == bytes(LIMIT)
    with pytest.raises(RemoteProtocolError, match="unpacks to over 100000 bytes"):
        unpack(name, PACK[name](bytes(LIMIT + 1)))


@pytest.mark.parametrize("name", PACK)
def test_decompression_bomb_takes_limited_memory(name: str) -> None:
    bomb = PACK[name](bytes(60_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(RemoteProtocolError, match="unpacks to over"):
            unpack(name, bomb)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 30_000_000


@pytest.mark.parametrize("name", PACK)
def test_truncated_or_invalid_data_are_refused(name: str) -> None:
    packed = PACK[name](b"hello" * 100)
    for cut in (packed[:-5], b""):
        with pytest.raises(RemoteProtocolError, match=f"is no {name}"):
            unpack(name, cut)
    assert unpack(name, packed + b"and more") == b"hello" * 100
