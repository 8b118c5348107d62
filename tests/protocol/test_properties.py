"""Message properties as the text that a record holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol import properties
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.properties import (
    decode_properties,
    encode_properties_as_java,
    property_value,
)

PART = st.text(
    alphabet=st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1
)


@given(st.dictionaries(PART, PART, max_size=20))
def test_written_properties_are_read_back(written: dict[str, str]) -> None:
    text = encode_properties_as_java(written)
    assert decode_properties(text) == written
    assert list(decode_properties(text)) == list(java_hash_map_order(written))
    assert decode_properties(text + "\x02") == written
    assert encode_properties_as_java({}) == ""


def test_java_order_is_that_of_a_hash_map() -> None:
    sent = {"UNIQ_KEY": "u", "WAIT": "true", "TAGS": "t", "KEYS": "k"}
    assert (
        encode_properties_as_java(sent) == "KEYS\x01k\x02UNIQ_KEY\x01u\x02WAIT\x01true\x02TAGS\x01t"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("\x02\x02", {}),
        ("a\x01", {}),
        ("\x01b", {}),
        ("abc", {}),
        ("a\x01b", {"a": "b"}),
        ("a\x01b\x01c", {"a": "b\x01c"}),
        ("a\x01\x02b\x01c", {"b": "c"}),
        ("a\x011\x02b\x012\x02a\x013", {"a": "3", "b": "2"}),
    ],
)
def test_unusual_texts_are_read_as_by_java(text: str, expected: dict[str, str]) -> None:
    assert decode_properties(text) == expected


def test_names_are_javas() -> None:
    assert properties.UNIQ_CLIENT_MESSAGE_ID_KEYIDX == "UNIQ_KEY"
    assert properties.TRACE_SWITCH == "TRACE_ON"
    assert properties.WAIT_STORE_MSG_OK == "WAIT"


@given(
    st.text(alphabet="AB%x\x01\x02", max_size=16),
    st.sampled_from(["A", "B", "AB", "x"]),
)
def test_one_property_is_found_as_all_are(text: str, name: str) -> None:
    assert property_value(text, name) == decode_properties(text).get(name, "")
