"""Values of gRPC's headers and trailers."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.grpc.rpc import timeout_ms
from fakemq.protocol.grpc.status import TEXT_MAX_BYTES, percent_encoded


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        *(("5S", 5_000), ("100m", 100), ("1500u", 1), ("999999n", 0), ("2M", 120_000)),
        *(("1H", 3_600_000), ("99999999H", 99_999_999 * 3_600_000), ("0n", 0)),
        *(("", None), ("S", None), ("5", None), ("5s", None), ("-1S", None), ("1.5S", None)),
        *(("123456789S", None), ("٣S", None), ("5 S", None)),
    ],
)
def test_timeout_is_read_in_every_unit(value: str, ms: int | None) -> None:
    assert timeout_ms(value) == ms


@given(st.text(max_size=200))
def test_text_of_a_status_is_visible_ascii_and_can_be_decoded(text: str) -> None:
    encoded = percent_encoded(text)
    assert encoded.isascii()
    assert encoded.isprintable()
    assert unquote(encoded) == text.encode("utf-8", "replace").decode()


def test_long_text_of_a_status_is_cut() -> None:
    assert percent_encoded("x" * 5_000) == "x" * (TEXT_MAX_BYTES - 3) + "..."
    assert len(percent_encoded("\u4e2d" * 5_000)) <= 3 * TEXT_MAX_BYTES
