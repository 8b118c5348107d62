"""The reader and writer of .properties texts, beside javaproperties."""

from __future__ import annotations

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.config.properties_text import EscapeError, entries, written

TEXTS = st.text(alphabet="ab=: \t\f\\\n\r#!u0dD8éċ", max_size=24) | st.text(max_size=24)


def judged(text: str) -> dict[str, str] | None:
    try:
        return javaproperties.loads(text)
    except ValueError:
        return None


def read(text: str) -> dict[str, str] | None:
    try:
        return {key: value for _, key, value in entries(text)}
    except EscapeError:
        return None


@given(TEXTS)
def test_text_is_read_as_javaproperties_reads_it(text: str) -> None:
    assert read(text) == judged(text)


@given(st.text(max_size=24))
def test_written_value_is_read_again(value: str) -> None:
    line = f"key={written(value)}\n"
    line.encode("ascii")
    assert read(line) == judged(line) == {"key": value}


def test_entry_has_the_number_of_its_first_line() -> None:
    text = "# comment \\\na=1\r\n\r\rb=2\\\n  3\\\n\n  \\\n c : 4\nd"
    assert list(entries(text)) == [(2, "a", "1"), (5, "b", "23"), (8, "c", "4"), (10, "d", "")]


def test_wrong_escape_has_its_line_and_text() -> None:
    with pytest.raises(EscapeError, match=r"wrong escape \\u00zz; expected \\u and four") as error:
        list(entries("a=1\nb=x\\u00zz=y"))
    assert error.value.line == 2


def test_pairs_of_escapes_are_one_character() -> None:
    assert read("a=\\ud83d\\uDE00\\ud83d") == {"a": "😀\ud83d"}
    assert written("😀 é\t") == "\\uD83D\\uDE00 \\u00E9\\t"
    assert written("  #!=:\\") == "\\  \\#\\!\\=\\:\\\\"


def test_many_continued_lines_take_linear_time() -> None:
    # javaproperties takes minutes.
    text = "key = " + "value\\\n" * 50_000
    assert read(text) == {"key": "value" * 50_000}
