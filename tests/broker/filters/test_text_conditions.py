"""CONTAINS, STARTSWITH and ENDSWITH in filters, which only 5.5.0 knows, and its errors."""

from __future__ import annotations

import pytest

from fakemq.broker.filters.sql_parser import compile_sql
from fakemq.broker.filters.sql_tokens import MQFilterError


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("a CONTAINS 'bc'", True),
        ("a contains 'x'", False),
        ("a NOT CONTAINS 'x'", True),
        ("a STARTSWITH 'ab'", True),
        ("a NOT STARTSWITH 'ab'", False),
        ("a ENDSWITH 'cd'", True),
        ("a NOT ENDSWITH 'x' AND a CONTAINS 'b'", True),
        ("absent NOT CONTAINS 'x'", False),
        ("a NOT CONTAINS ''", False),
        ("5 NOT CONTAINS 'x'", False),
    ],
)
def test_text_condition_looks_into_a_property(text: str, matches: bool) -> None:
    assert compile_sql(text, text_conditions=True).matches({"a": "abcd"}) is matches


def test_text_condition_is_a_name_in_4_9_7() -> None:
    assert not compile_sql("CONTAINS = 'x'").matches({})
    with pytest.raises(MQFilterError):
        compile_sql("CONTAINS = 'x'", text_conditions=True)


def test_error_lists_what_was_looked_ahead_for() -> None:
    with pytest.raises(MQFilterError) as caught:
        compile_sql("a NOT 1", text_conditions=True)
    words = str(caught.value)
    assert 'Encountered " "NOT" "NOT "  <DECIMAL_LITERAL> "1 "" at line 1, column 3.' in words
    assert '"NOT" "CONTAINS" ...' in words
    with pytest.raises(MQFilterError) as caught:
        compile_sql("a IS 1", text_conditions=True)
    assert str(caught.value).endswith('one of:\n    "NOT" ...\n    "NULL" ...\n    ')
