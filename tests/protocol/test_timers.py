"""Recall handles are read and written as Java does."""

from __future__ import annotations

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.timers import INVALID_HANDLE, RecallHandle

HANDLE = RecallHandle("orders", "broker-a", "1700000000001", "AC1D0B01")
TEXT = "djEgb3JkZXJzIGJyb2tlci1hIDE3MDAwMDAwMDAwMDEgQUMxRDBCMDE="
WORDS = st.text(st.characters(exclude_characters=" ", exclude_categories=["Cs"]), min_size=1)


def test_handle_is_five_words_in_base64() -> None:
    assert HANDLE.encode() == TEXT
    assert base64.urlsafe_b64decode(TEXT) == b"v1 orders broker-a 1700000000001 AC1D0B01"
    assert RecallHandle.decode(TEXT) == HANDLE


@given(st.builds(RecallHandle, WORDS, WORDS, WORDS, WORDS))
def test_handle_is_read_as_it_was_written(handle: RecallHandle) -> None:
    assert RecallHandle.decode(handle.encode()) == handle


def test_handle_without_padding_is_read() -> None:
    assert RecallHandle.decode(TEXT.rstrip("=")) == HANDLE


def test_handle_with_more_words_is_read() -> None:
    text = base64.urlsafe_b64encode(b"v1 a b c d e f").decode()
    assert RecallHandle.decode(text) == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    "handle",
    [
        *(None, "", "x", "====", "ab=c", "\u00e9", "AAAA+AAA", "AAAA/AAA"),
        *(
            base64.urlsafe_b64encode(text).decode()
            for text in (b"v2 a b c d", b"v1 a b c", b"v1 a b c ", b"v1", b" v1 a b c d", b"\xff")
        ),
    ],
)
def test_other_text_is_no_handle(handle: str | None) -> None:
    with pytest.raises(ValueError, match=INVALID_HANDLE):
        RecallHandle.decode(handle)


@given(st.text())
def test_any_text_is_a_handle_or_is_refused(text: str) -> None:
    with suppress(ValueError):
        assert len(RecallHandle.decode(text)) == 4
