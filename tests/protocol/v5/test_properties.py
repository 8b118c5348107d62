"""Properties as 5.5.0 writes them; the orders are those of records of a real broker."""

from __future__ import annotations

from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.properties import MadeProperties, decode_properties
from fakemq.protocol.v5.properties import as_read, encode_properties

HALF = (
    *("MSG_REGION", "UNIQ_KEY", "CLUSTER", "PGROUP", "__transactionId__", "TAGS"),
    *("TRAN_MSG", "KEYS", "WAIT", "TRACE_ON", "REAL_TOPIC", "REAL_QID"),
)
"""The properties of a half message in recordings/5.5.0/transaction_commit.txt."""


def test_properties_have_the_order_of_a_map_of_128_buckets() -> None:
    # Two share a bucket: the one that is put first stands first.
    properties = {name: f"{name}%" for name in sorted(HALF, reverse=True)}
    text = encode_properties(properties)
    assert text == "".join(f"{name}\x01{name}%\x02" for name in HALF)
    assert decode_properties(text) == properties
    assert tuple(as_read(properties)) == HALF
    assert text == encode_properties(properties)  # in the form that was kept


def test_properties_that_a_broker_makes_have_the_order_of_a_small_map() -> None:
    made = MadeProperties({"BORN_TIMESTAMP": "7", "TAGS": "t", "UNIQ_KEY": "k", "PGROUP": "g"})
    assert list(decode_properties(encode_properties(made))) == java_hash_map_order(made)
    assert list(decode_properties(encode_properties(dict(made)))) == list(as_read(made))
    assert encode_properties(dict(made)) != encode_properties(made)


def test_property_is_left_out() -> None:
    assert encode_properties({"WAIT": "true", "KEYS": "k"}, without="WAIT") == "KEYS\x01k\x02"
    assert encode_properties({}) == ""
