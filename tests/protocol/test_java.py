"""The expected values were printed by Java 17 (String.hashCode, HashMap and HashSet iteration)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.clock.slices import finished
from fakemq.protocol.java import (
    crc32,
    int32,
    int64,
    java_hash,
    java_hash_map_order,
    java_hash_map_order_in_steps,
    java_string_hash,
)


def test_longs_wrap() -> None:
    assert [int64(n) for n in (2**63 - 1, 2**63, -(2**63) - 1, -5)] == [
        *(2**63 - 1, -(2**63), 2**63 - 1, -5)
    ]


JAVA_HASHES = {
    "": 0,
    "a": 97,
    "TAGS": 2567193,
    "KEYS": 2303476,
    "UNIQ_KEY": 488471169,
    "%RETRY%group": 995971261,
    "日本語": 25921943,
    "\U0001f600x": 54959989,
    "polygenelubricants": -2147483648,
    "x" * 200: 359357440,
    "TopicTest#7F00000123": -729416845,
}


@pytest.mark.parametrize(("text", "expected"), JAVA_HASHES.items())
def test_string_hash_equals_javas(text: str, expected: int) -> None:
    assert java_string_hash(text) == expected


@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=200))
def test_string_hash_equals_its_definition(text: str) -> None:
    expected = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        expected = int32(expected * 31 + (high << 8 | low))
    assert java_string_hash(text) == expected


def test_number_hashes_equal_javas() -> None:
    assert java_hash(-1) == -1
    assert java_hash(1 << 32) == 1
    assert java_hash(0x7FFF_FFFF) == 0x7FFF_FFFF


JOINED_KEY_SETS = {
    (1, 3): -843051166,
    (1, 12): 818403780,
    (1, 13): -250992516,
    (1, 48): -237169018,
    (1, 49): 1814116547,
    (1, 200): -1551916920,
    (16, 3): -843051166,
    (16, 12): 818403780,
    (16, 13): -250992516,
    (16, 48): -237169018,
    (16, 49): 1814116547,
    (16, 200): -1551916920,
    (128, 3): 1913748642,
    (128, 12): 1006486932,
    (128, 13): 150010110,
    (128, 48): 379881246,
    (128, 49): 1814116547,
    (128, 200): -1551916920,
}
"""Hash of the keys of a HashMap, joined by commas, by its initial capacity and size."""


@pytest.mark.parametrize(("capacity", "size"), JOINED_KEY_SETS)
def test_hash_map_order_equals_javas(capacity: int, size: int) -> None:
    keys = [f"topic-{index * 7919 % size}-x" for index in range(size)]
    ordered = java_hash_map_order(keys, capacity)
    assert sorted(ordered) == sorted(keys)
    assert java_string_hash(",".join(ordered)) == JOINED_KEY_SETS[capacity, size]


@given(st.lists(st.one_of(st.text(), st.integers(-(2**63), 2**63 - 1))), st.integers(1, 64))
def test_hash_map_order_in_steps_is_the_same(keys: list[str | int], capacity: int) -> None:
    in_steps = finished(java_hash_map_order_in_steps(keys, capacity))
    assert in_steps == java_hash_map_order(keys, capacity)


def test_hash_map_order_of_many_keys_takes_many_steps() -> None:
    assert sum(1 for _ in java_hash_map_order_in_steps(range(10_000))) == 59


def test_hash_map_order_of_property_names_equals_javas() -> None:
    names = "MSG_REGION TRACE_ON UNIQ_KEY WAIT TAGS KEYS CLUSTER DELAY MIN_OFFSET MAX_OFFSET"
    ordered = "MIN_OFFSET TRACE_ON MAX_OFFSET MSG_REGION KEYS UNIQ_KEY CLUSTER WAIT DELAY TAGS"
    assert java_hash_map_order(names.split(" ")) == ordered.split(" ")
    # The thirteenth key doubles the table.
    names += " RECONSUME_TIME REAL_TOPIC REAL_QID"
    ordered = (
        "RECONSUME_TIME TRACE_ON MIN_OFFSET REAL_TOPIC MAX_OFFSET MSG_REGION KEYS UNIQ_KEY"
        " CLUSTER WAIT DELAY TAGS REAL_QID"
    )
    assert java_hash_map_order(names.split(" ")) == ordered.split(" ")


def test_hash_set_order_of_numbers_equals_javas() -> None:
    codes = [java_string_hash(f"tag{index}") * (-1 if index % 2 else 1) for index in range(40)]
    assert java_hash_map_order(codes) == [
        *(110118744, -110118745, 110118746, -110118747, 110118748, -110118749, 110118750),
        *(-110118751, 110118721, -110118722, 3552214, -3552215, 110118775, -110118776, 3552222),
        *(-3552223, 110118713, -110118714, 110118777, -110118778, 3552220, -3552221, 110118715),
        *(-110118716, 110118779, -110118780, 3552218, -3552219, 110118717, -110118718, 110118781),
        *(-110118782, 3552216, -3552217, 110118719, -110118720, 110118783, -110118784, 110118752),
        -110118753,
    ]


def test_repeated_key_keeps_its_place() -> None:
    assert java_hash_map_order(["a", "b", "a"]) == ["a", "b"]
    assert java_hash_map_order([]) == []


def test_crc32_has_no_sign_bit() -> None:
    assert crc32(b"") == 0
    assert crc32(b"hello") == 0x3610A686
    assert crc32(b"a") == 0xE8B7BE43 & 0x7FFF_FFFF
