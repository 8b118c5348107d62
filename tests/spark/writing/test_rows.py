"""From a row to the message that is sent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest

from fakemq.protocol.properties import decode_properties
from fakemq.spark.writing.row_ids import RowIds
from fakemq.spark.writing.rows import OutgoingRow, RowEncoder, RowError
from tests.support.writes import options, rows


def encoded(**columns: Sequence[object]) -> list[OutgoingRow]:
    return encoder().rows(rows(**columns))


def encoder(**given: str) -> RowEncoder:
    numbers = count()
    asked = options(**{"topic": "orders", **given})
    return RowEncoder(asked, RowIds("w", "0"), lambda: f"U{next(numbers)}")


def test_columns_become_the_message() -> None:
    one, other = encoded(
        value=["grün".encode(), b"\x00"],
        key=["k1 k2", None],
        tags=["red", ""],
        properties=[[("b", "2"), ("a", "ä")], []],
        delayLevel=[3, 0],
        shardingKey=["s", None],
        queueId=[1, None],
        broker=["broker-a", None],
    )
    properties = decode_properties(one.properties.decode())
    name = properties.pop("SPARK_ROW_ID")
    assert properties == {
        "a": "ä",
        "b": "2",
        "DELAY": "3",
        "KEYS": "k1 k2",
        "TAGS": "red",
        "UNIQ_KEY": "U0",
    }
    assert (one.topic, one.body, one.sharding_key) == ("orders", "grün".encode(), "s")
    assert (one.broker, one.queue_id, one.is_delayed) == ("broker-a", 1, True)
    properties = decode_properties(other.properties.decode())
    assert properties.pop("SPARK_ROW_ID") != name
    assert properties == {"UNIQ_KEY": "U1"}
    assert not other.is_delayed


def test_order_of_a_map_is_irrelevant() -> None:
    ways = [[("a", "1"), ("b", "2")], [("b", "2"), ("a", "1")]]
    found = {encoded(value=[b"v"], properties=[way])[0].properties for way in ways}
    assert len(found) == 1


def test_given_id_is_kept() -> None:
    (row,) = encoded(value=[b"v"], properties=[[("SPARK_ROW_ID", "mine")]])
    assert decode_properties(row.properties.decode())["SPARK_ROW_ID"] == "mine"


def test_system_properties_of_a_read_message_can_be_dropped() -> None:
    read = [("UNIQ_KEY", "x"), ("KEYS", "k"), ("mine", "7")]
    dropping = encoder(dropSystemProperties="true")
    (row,) = dropping.rows(rows(value=[b"v"], properties=[read]))
    properties = decode_properties(row.properties.decode())
    assert properties.pop("SPARK_ROW_ID")
    assert properties == {"mine": "7", "UNIQ_KEY": "U0"}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"value": [b"a", None]}, "topic orders has no value: the message body is null"),
        ({"value": [b""]}, "topic orders has no value: the message body length is zero"),
        ({"delayLevel": [-1]}, "delayLevel -1, expected 0"),
        ({"delayLevel": [1 << 31]}, "delayLevel 2147483648, expected 0"),
        ({"broker": ["b"], "queueId": [None]}, "names broker b and no queueId"),
        (
            {"properties": [[("KEYS", "k")]]},
            "property KEYS, which is used by system: give the column key, or let the option",
        ),
        ({"properties": [[("UNIQ_KEY", "k")]]}, "property UNIQ_KEY, .*: choose another name"),
        ({"properties": [[("a", None)]]}, "property 'a' of value None: neither may be null"),
        ({"properties": [[("a", " ")]]}, "property 'a' of value ' ': neither may be"),
        ({"properties": [[("a", "\x02")]]}, r"U\+0001 or U\+0002"),
        ({"key": ["a\x01b"]}, r"U\+0001 or U\+0002 in its key, tags or properties"),
        ({"tags": ["ä" * 16_400]}, r"properties of 3\d{4} bytes .* more than the 32767 possible"),
    ],
)
def test_invalid_row_is_refused(columns: dict[str, Sequence[object]], said: str) -> None:
    with pytest.raises(RowError, match=said):
        encoder().rows(rows(**{"value": [b"v"], **columns}))


def test_row_without_a_topic_is_refused() -> None:
    by_row = RowEncoder(options(), RowIds("w", "0"), lambda: "U")
    for topic in (None, ""):
        with pytest.raises(RowError, match="a row names no topic: its column topic is null or"):
            by_row.rows(rows(value=[b"v"], topic=[topic]))
