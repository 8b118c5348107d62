"""Message ids: a broker's offset ids and a client's unique ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.message_id import (
    OffsetId,
    UniqueIdGenerator,
    create_offset_id,
    decode_offset_id,
    decode_unique_id,
    month_around,
    unique_id_time_ms,
)

FEBRUARY_MS = 1_706_745_600_000  # 2024-02-01T00:00:00Z
MARCH_MS = 1_709_251_200_000


@given(st.ip_addresses().map(str), st.integers(0, 65535), st.integers(-(2**63), 2**63 - 1))
def test_offset_id_is_decoded_as_encoded(ip: str, port: int, offset: int) -> None:
    text = create_offset_id((ip, port), offset)
    assert len(text) == (56 if ":" in ip else 32)
    assert decode_offset_id(text) == OffsetId((ip, port), offset)
    assert decode_offset_id(text.lower()) == OffsetId((ip, port), offset)


def test_offset_id_has_javas_layout() -> None:
    assert create_offset_id(("127.0.0.1", 20911), 0) == "7F000001000051AF0000000000000000"


@pytest.mark.parametrize("text", ["", "7F", "G" * 32, "7F" * 15, "7F" * 17, "7F " * 16, "é" * 32])
def test_invalid_id_is_refused(text: str) -> None:
    with pytest.raises(RemoteProtocolError, match="no message id"):
        decode_offset_id(text)
    with pytest.raises(RemoteProtocolError, match="no message id"):
        decode_unique_id(text)


def test_unique_id_has_javas_layout() -> None:
    ids = UniqueIdGenerator("10.0.0.7", 0x1_2345, 0x18B4AAC2)
    assert ids.create(FEBRUARY_MS + 0x1234) == "0A000007234518B4AAC2000012340000"
    assert ids.create(FEBRUARY_MS + 0x1235) == "0A000007234518B4AAC2000012350001"


@given(
    st.ip_addresses().map(str),
    st.integers(0, 65535),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, MARCH_MS - FEBRUARY_MS - 1),
    st.integers(0, 1 << 20),
)
def test_unique_id_is_decoded_as_encoded(
    ip: str, pid: int, loader: int, since_ms: int, counter: int
) -> None:
    text = UniqueIdGenerator(ip, pid, loader, counter=counter).create(FEBRUARY_MS + since_ms)
    assert decode_unique_id(text) == (ip, pid, loader, since_ms, counter & 0xFFFF)
    assert unique_id_time_ms(text, FEBRUARY_MS + since_ms + 1) == FEBRUARY_MS + since_ms
    assert unique_id_time_ms(text, MARCH_MS) == FEBRUARY_MS + since_ms


def test_new_month_restarts_the_time() -> None:
    ids = UniqueIdGenerator("10.0.0.7", 1, 1)
    assert decode_unique_id(ids.create(MARCH_MS - 1)).since_month_ms == MARCH_MS - FEBRUARY_MS - 1
    assert decode_unique_id(ids.create(MARCH_MS + 5)).since_month_ms == 5
    # The clock stepped back a little: still the month's first moment, as in Java.
    assert decode_unique_id(ids.create(MARCH_MS - 1000)).since_month_ms == 0


def test_months_begin_at_local_midnight() -> None:
    east_ms = 8 * 3_600_000
    assert month_around(FEBRUARY_MS) == (FEBRUARY_MS, MARCH_MS)
    assert month_around(MARCH_MS - 1) == (FEBRUARY_MS, MARCH_MS)
    assert month_around(MARCH_MS - 1, east_ms)[0] == MARCH_MS - east_ms
    december_ms, january_ms = month_around(1_703_980_800_000)
    assert january_ms - december_ms == 31 * 86_400_000
